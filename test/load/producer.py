"""Endless load by an idempotent librdkafka producer, told by one argument, a JSON object:

addresses, topic   where to
producer           its number in the run
partitions         record n goes to partition n % partitions; 0: wherever its key puts it
keys               record n has the key n % keys; 0: none
perSecond          records a second; 0: as many as the client takes
valueBytes         record n has the value "PRODUCER.n " and padding
settings           of librdkafka, by its own names

Every acknowledged record gives a line "n partition offset milliseconds". SIGTERM: sends what is queued, then "done SENT
ACKNOWLEDGED". A record that failed gives "failed n REASON".
"""

import json
import os
import signal
import sys
import time

from confluent_kafka import Producer

options = json.loads(sys.argv[1])
topic, index, keys = options["topic"], options["producer"], options["keys"]
partitions, rate, value_bytes = options["partitions"], options["perSecond"], options["valueBytes"]
# While the nodes are away the queue must not grow without end.
QUEUED_MAX = 20000
running = True
lines = []
acknowledged = 0


def stop(_signal, _frame):
    global running
    running = False


def delivered(error, message):
    global acknowledged
    number = int(message.value().split(b" ", 1)[0].split(b".")[1])
    if error is not None:
        lines.append(f"failed {number} {error}\n")
        return
    acknowledged += 1
    lines.append(f"{number} {message.partition()} {message.offset()} {int(time.time() * 1000)}\n")


def report():
    if lines:
        text = "".join(lines).encode()
        lines.clear()
        while text:
            text = text[os.write(1, text) :]


def failed(error):
    if error.fatal():
        os.write(1, f"failed -1 fatal: {error}\n".encode())
        os._exit(3)


def send(number):
    text = f"{index}.{number} ".encode()
    more = {}
    if partitions > 0:
        more["partition"] = number % partitions
    if keys > 0:
        more["key"] = str(number % keys).encode()
    producer.produce(topic, text.ljust(value_bytes, b"."), on_delivery=delivered, **more)


signal.signal(signal.SIGTERM, stop)
producer = Producer(
    {
        "bootstrap.servers": options["addresses"],
        "enable.idempotence": True,
        "acks": "all",
        "message.timeout.ms": 0,
        "error_cb": failed,
        **options["settings"],
    }
)
number = 0
began = time.monotonic()
debt = 0.0
while running:
    # The callbacks run in here, so that an acknowledgement is noted when it comes.
    producer.poll(0.002)
    now = time.monotonic()
    debt = QUEUED_MAX if rate == 0 else min(debt + (now - began) * rate, 1000.0)
    began = now
    while debt >= 1 and len(producer) < QUEUED_MAX:
        send(number)
        number += 1
        debt -= 1
    report()
while producer.flush(1) > 0:
    report()
report()
os.write(1, f"done {number} {acknowledged}\n".encode())
