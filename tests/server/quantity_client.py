"""A client of quantities_test.py that may be killed at any time. It keeps a journal: a line before each request, with
all that is needed to find out later what became of it, and one after each answer.

    quantity_client.py JOURNAL SEED CALLS TENANT PORT...
"""

import http.client
import json
import os
import random
import sys


def post(port, operation, body):
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    try:
        connection.request("POST", f"/api/v1/rate-limit/{operation}", json.dumps(body))
        response = connection.getresponse()
        return response.status, json.loads(response.read())
    finally:
        connection.close()


def main():
    journal = os.open(sys.argv[1], os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
    choices = random.Random(int(sys.argv[2]))
    tenant, ports = sys.argv[4], [int(port) for port in sys.argv[5:]]

    def note(**line):
        os.write(journal, (json.dumps(line) + "\n").encode())

    for call in range(int(sys.argv[3])):
        reserved = choices.randrange(1, 40)
        use = {"input_tokens": 0, "cached_tokens": 0, "output_tokens": reserved}
        note(call=call, step="reserving", tokens=reserved)
        try:
            body = {"attributes": {"api_key": "a", "tenant": tenant, "model": "small"}, "use": use}
            status, answer = post(choices.choice(ports), "check", body)
        except (OSError, http.client.HTTPException):
            continue  # The server was killed: who knows.
        if status == 503:
            continue  # The store was not there, or did not answer in time: who knows.
        if status != 200:
            note(call=call, step="denied" if status == 429 else f"failed with {status}: {answer}", tokens=0)
            continue
        receipt = answer["receipt"]
        note(call=call, step="reserved", tokens=reserved, receipt=receipt)
        if choices.random() < 0.15:
            continue  # Forgotten: the reservation stays.
        real = choices.randrange(reserved + 1)
        note(call=call, step="settling", tokens=real, receipt=receipt)
        while True:
            try:
                if choices.random() < 0.3:
                    post(choices.choice(ports), "settle", {"receipt": receipt, "use": {"output_tokens": real // 2}, "partial": True})
                status, answer = post(choices.choice(ports), "settle", {"receipt": receipt, "use": {"output_tokens": real}})
                if status != 503:
                    break
            except (OSError, http.client.HTTPException):
                pass  # Another server, and the same again.
        note(call=call, step="settled" if status == 200 else f"failed with {status}: {answer}", tokens=real)


main()
