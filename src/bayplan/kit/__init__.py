"""For people who write plugins or come from another scheduler: lint a plugin, start one, bring a configuration along.

Called by ``cli``; works on files and on clusters that it makes up, never on a live one.
"""
