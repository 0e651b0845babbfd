"""``bayplan bench``: schedulers measured side by side, from outside, on a real API server.

``workload`` reads what is to be placed, ``scene`` makes objects of it, ``filling`` creates them; ``subjects`` starts a
scheduler as a process of its own, ``recorder`` watches what it binds, ``audit`` looks at the result; ``trial`` is one run of
one scheduler, ``campaign`` the rounds of all of them, ``report`` the table.
"""
