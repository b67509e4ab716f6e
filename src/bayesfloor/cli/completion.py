"""A script that completes commands and options in the shell."""

from argparse import SUPPRESS, Namespace

__all__ = ["complete"]


def complete(options: Namespace) -> None:
    """Print it."""
    from .main import parser

    actions = parser()._subparsers._group_actions[0].choices  # type: ignore[union-attr]
    cases = []
    for name, one in actions.items():  # type: ignore[union-attr]
        flags = [flag for action in one._actions for flag in action.option_strings if action.help != SUPPRESS]
        cases.append(f'    {name}) words="{" ".join(flags)}" ;;')
    print(
        "\n".join(
            [
                "_bayesfloor() {",
                "  local words current=${COMP_WORDS[COMP_CWORD]}",
                '  case "${COMP_WORDS[1]}" in',
                *cases,
                "  esac",
                f'  if [ "$COMP_CWORD" = 1 ]; then words="{" ".join(actions)} --help --version"; fi',  # type: ignore[arg-type]
                '  if [ "$COMP_CWORD" = 1 ] || [ "${current:0:1}" = "-" ]; then',
                '    COMPREPLY=($(compgen -W "$words" -- "$current"))',
                "  fi",
                "}",
                "complete -o default -F _bayesfloor bayesfloor",
            ]
        )
    )
