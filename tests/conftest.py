import hypothesis

# Examples are judged by what they compute; how long that takes is up to the machine.
hypothesis.settings.register_profile("untimed", deadline=None, suppress_health_check=[hypothesis.HealthCheck.too_slow])
hypothesis.settings.load_profile("untimed")
