"""HTTP requests that wait for a machine that is busy with other tests: a test says what is answered, not how soon.

No test speaks TLS. A context without authorities spares every client the loading of them: 0.04 s, thousands of times.
"""

import ssl
from functools import partial

import httpx

SECONDS = 60.0
PLAIN = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)

Client = partial(httpx.Client, timeout=SECONDS, trust_env=False, verify=PLAIN)
AsyncClient = partial(httpx.AsyncClient, timeout=SECONDS, trust_env=False, verify=PLAIN)
get = partial(httpx.get, timeout=SECONDS, trust_env=False, verify=PLAIN)
post = partial(httpx.post, timeout=SECONDS, trust_env=False, verify=PLAIN)
put = partial(httpx.put, timeout=SECONDS, trust_env=False, verify=PLAIN)
request = partial(httpx.request, timeout=SECONDS, trust_env=False, verify=PLAIN)
