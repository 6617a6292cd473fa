"""The adapter of aiokafka: aio.py BOOTSTRAP."""

import asyncio
import sys

import aiokafka
from aiokafka import AIOKafkaConsumer, AIOKafkaProducer, TopicPartition
from aiokafka.errors import BrokerResponseError, KafkaError

from aio_admin import Admin
from serve import Deadline, base64_of, bytes_of, failure, serve_async

bootstrap = sys.argv[1]


def failure_of(error):
    if isinstance(error, BrokerResponseError):
        return failure(type(error).__name__, error.errno, error)
    if isinstance(error, (KafkaError, ValueError, AssertionError, asyncio.TimeoutError)):
        return failure(type(error).__name__, None, error)
    return None


def told(record):
    return {
        "partition": record.partition,
        "offset": record.offset,
        "timestamp": record.timestamp,
        "timestampType": "append" if record.timestamp_type == 1 else "create",
        "key": base64_of(record.key),
        "value": base64_of(record.value),
        "headers": [[name, base64_of(value)] for name, value in record.headers],
    }


class Adapter(Admin):
    def __init__(self):
        super().__init__(bootstrap)
        self.consumer = None
        self.read = {}

    async def produce(self, topic, records, codec, acks, idempotent, maxBytes=None):
        options = {} if maxBytes is None else {"max_request_size": maxBytes}
        producer = AIOKafkaProducer(
            bootstrap_servers=bootstrap,
            compression_type=None if codec == "none" else codec,
            acks=acks if acks == "all" else int(acks),
            enable_idempotence=idempotent,
            linger_ms=20,
            request_timeout_ms=8_000,
            **options,
        )
        await producer.start()
        try:
            futures = [await self._send(producer, topic, record) for record in records]
            await producer.flush()
            return {"records": [await self._delivery(future) for future in futures]}
        finally:
            await producer.stop()

    async def _send(self, producer, topic, record):
        return await producer.send(
            topic,
            key=bytes_of(record["key"]),
            value=bytes_of(record["value"]),
            headers=[(name, bytes_of(value)) for name, value in record["headers"]],
            partition=record.get("partition"),
            timestamp_ms=record.get("timestamp"),
        )

    async def _delivery(self, future):
        try:
            metadata = await future
            # With acks=0 nobody tells where it is.
            if metadata is None:
                return {"partition": -1, "offset": -1, "error": None}
            return {"partition": metadata.partition, "offset": metadata.offset, "error": None}
        except KafkaError as error:
            return {"partition": -1, "offset": -1, "error": failure_of(error)}

    async def consume(self, topic, partition, offset, count, timeoutMs):
        consumer = AIOKafkaConsumer(bootstrap_servers=bootstrap, enable_auto_commit=False)
        place = TopicPartition(topic, partition)
        consumer.assign([place])
        await consumer.start()
        try:
            if offset == "earliest":
                await consumer.seek_to_beginning(place)
            elif offset == "latest":
                await consumer.seek_to_end(place)
            else:
                consumer.seek(place, offset)
            records = []
            deadline = Deadline(timeoutMs)
            while len(records) < count and not deadline.is_over:
                for found in (await consumer.getmany(timeout_ms=500)).values():
                    records.extend(told(record) for record in found)
            return {"records": records[:count]}
        finally:
            await consumer.stop()

    async def subscribe(self, group, topics, reset, protocol, sessionTimeoutMs, instanceId=None):
        self.consumer = AIOKafkaConsumer(
            *topics,
            bootstrap_servers=bootstrap,
            group_id=group,
            group_instance_id=instanceId,
            auto_offset_reset=reset,
            enable_auto_commit=False,
            session_timeout_ms=sessionTimeoutMs,
            heartbeat_interval_ms=min(500, sessionTimeoutMs // 3),
        )
        # Its start waits for the first rebalance, but the command is to return at once.
        self.starting = asyncio.create_task(self.consumer.start())
        return {}

    async def poll(self, forMs, max):
        if not self.starting.done():
            await asyncio.wait([self.starting], timeout=forMs / 1000)
        if not self.starting.done():
            return {"records": [], "assignment": []}
        await self.starting
        found = await self.consumer.getmany(timeout_ms=forMs, max_records=max)
        records = [record for batch in found.values() for record in batch]
        for record in records:
            self.read[TopicPartition(record.topic, record.partition)] = record.offset + 1
        assignment = [{"topic": place.topic, "partition": place.partition} for place in self.consumer.assignment()]
        return {"records": [told(record) for record in records], "assignment": assignment}

    async def commit(self):
        owned = self.consumer.assignment()
        offsets = {place: offset for place, offset in self.read.items() if place in owned}
        if offsets:
            await self.consumer.commit(offsets)
        return {}

    async def close(self):
        await self.consumer.stop()
        return {}


declaration = {
    "client": "aiokafka",
    "version": aiokafka.__version__,
    "unsupported": {
        "static-fencing": "it does not know FENCED_INSTANCE_ID: both members go on taking the id from each other",
        "consumer-protocol": "it speaks the classic protocol",
        "deleteGroups": "its admin client has none",
        "deleteOffsets": "its admin client has none",
    },
}


async def main():
    await serve_async(declaration, Adapter(), failure_of)


asyncio.run(main())
