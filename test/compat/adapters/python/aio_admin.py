from aiokafka import AIOKafkaConsumer, TopicPartition
from aiokafka.admin import AIOKafkaAdminClient, NewPartitions, NewTopic, RecordsToDelete
from aiokafka.admin.config_resource import ConfigResource, ConfigResourceType
from aiokafka.errors import for_code
from aiokafka.protocol.group import MemberAssignment

from serve import failure


def error_of(code, message=None):
    return None if code == 0 else failure(for_code(code).__name__, code, message)


def raise_for(code, message=""):
    if code != 0:
        raise for_code(code)(message)


class Admin:
    """The part of the adapter that asks about topics, configs and groups; the admin client answers with tuples of the protocol."""

    def __init__(self, bootstrap):
        self.bootstrap = bootstrap
        self._admin = None

    async def admin(self):
        if self._admin is None:
            self._admin = AIOKafkaAdminClient(bootstrap_servers=self.bootstrap, request_timeout_ms=8_000)
            await self._admin.start()
        return self._admin

    async def createTopics(self, topics, validateOnly):
        wanted = [
            NewTopic(topic["name"], topic["partitions"], topic["replicationFactor"], topic_configs=topic["configs"])
            for topic in topics
        ]
        done = await (await self.admin()).create_topics(wanted, validate_only=validateOnly)
        return {"topics": [{"name": name, "error": error_of(code, *more)} for name, code, *more in done.topic_errors]}

    async def deleteTopics(self, topics):
        done = await (await self.admin()).delete_topics(topics)
        return {"topics": [{"name": name, "error": error_of(code)} for name, code in done.topic_error_codes]}

    async def describeTopic(self, topic):
        [found] = await (await self.admin()).describe_topics([topic])
        raise_for(found["error_code"])
        partitions = sorted(found["partitions"], key=lambda each: each["partition"])
        return {"partitions": [{name: each[name] for name in ("partition", "leader", "replicas", "isr")} for each in partitions]}

    async def createPartitions(self, topic, total):
        await (await self.admin()).create_partitions({topic: NewPartitions(total)})
        return {}

    async def describeConfigs(self, kind, name):
        resource = ConfigResource(ConfigResourceType[kind.upper()], name)
        [found] = await (await self.admin()).describe_configs([resource])
        [(code, message, _type, _name, entries)] = found.resources
        raise_for(code, message)
        # v0: whether it is a default; later: where it comes from.
        later = found.API_VERSION >= 1
        return {
            "configs": [
                {
                    "name": entry[0],
                    "value": entry[1],
                    "isReadOnly": entry[2],
                    "isSensitive": entry[4],
                    **({"source": entry[3]} if later else {}),
                }
                for entry in entries
            ]
        }

    async def alterConfigs(self, kind, name, set, remove):
        # The older call: it sets all, and what it does not name becomes the default.
        resource = ConfigResource(ConfigResourceType[kind.upper()], name, set)
        for answer in await (await self.admin()).alter_configs([resource]):
            for code, message, *_ in answer.resources:
                raise_for(code, message)
        return {}

    async def deleteRecords(self, topic, partition, before):
        place = TopicPartition(topic, partition)
        done = await (await self.admin()).delete_records({place: RecordsToDelete(before)})
        return {"lowWatermark": done[place]}

    async def listGroups(self):
        found = await (await self.admin()).list_consumer_groups()
        return {"groups": [{"group": group, "protocolType": kind} for group, kind, *_ in found]}

    async def describeGroup(self, group):
        [found] = await (await self.admin()).describe_consumer_groups([group])
        [(code, _group, state, protocol_type, protocol, members, *_)] = found.groups
        raise_for(code)
        return {
            "state": state,
            "protocolType": protocol_type,
            "protocol": protocol,
            "members": [self._member(member) for member in members],
        }

    def _member(self, member):
        # With the instance id second from v4 on.
        client, assignment = (member[2], member[5]) if len(member) >= 6 else (member[1], member[4])
        decoded = MemberAssignment.decode(assignment) if assignment else None
        return {
            "clientId": client,
            "partitions": [
                {"topic": topic, "partition": partition}
                for topic, partitions in (decoded.assignment if decoded else [])
                for partition in partitions
            ],
        }

    async def committed(self, group, topic, partitions):
        places = [TopicPartition(topic, partition) for partition in partitions]
        found = await (await self.admin()).list_consumer_group_offsets(group, partitions=places)
        return {
            "offsets": [
                {"partition": place.partition, "offset": found[place].offset, "metadata": found[place].metadata}
                for place in places
            ]
        }

    async def _with_consumer(self, use, **options):
        consumer = AIOKafkaConsumer(
            bootstrap_servers=self.bootstrap, enable_auto_commit=False, request_timeout_ms=8_000, **options
        )
        await consumer.start()
        try:
            return await use(consumer)
        finally:
            await consumer.stop()

    async def alterOffsets(self, group, topic, offsets):
        wanted = {TopicPartition(topic, each["partition"]): each["offset"] for each in offsets}

        async def commit(consumer):
            consumer.assign(list(wanted))
            await consumer.commit(wanted)
            return {}

        return await self._with_consumer(commit, group_id=group)

    async def listOffsets(self, topic, partitions, at):
        places = [TopicPartition(topic, partition) for partition in partitions]

        async def ask(consumer):
            found = await (consumer.beginning_offsets(places) if at == "earliest" else consumer.end_offsets(places))
            return {"offsets": [{"partition": place.partition, "offset": found[place]} for place in places]}

        return await self._with_consumer(ask)

    async def offsetsForTimes(self, topic, partition, timestamps):
        place = TopicPartition(topic, partition)

        async def ask(consumer):
            offsets = []
            for timestamp in timestamps:
                found = (await consumer.offsets_for_times({place: timestamp}))[place]
                offsets.append({"timestamp": timestamp, "offset": None if found is None else found.offset})
            return {"offsets": offsets}

        return await self._with_consumer(ask)
