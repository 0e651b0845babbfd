"""bayplan's own policies: placement rules that Kubernetes has not got, one plugin per file.

Each imports nothing of bayplan's but ``bayplan`` itself: what a policy does, anybody's plugin can do, and any of these
files may be copied and changed. Known to every scheduler by name (``bayplan.plugins`` lists them); a plugin of the
same name in a plugin directory takes the policy's place.
"""
