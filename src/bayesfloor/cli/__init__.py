"""The command: parser, a function for each command, what its files hold."""
