"""The only package that talks to the API server.

Below are an HTTP client of its own (``wire``, ``connection``, ``pool``) and the credentials that it needs (``config``);
``api`` sends requests, ``informer`` keeps handlers up to date, ``leases`` says who leads. Requests are data, built by
``resources`` and ``lease_requests``.
"""
