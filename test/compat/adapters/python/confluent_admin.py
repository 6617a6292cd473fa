from confluent_kafka import ConsumerGroupTopicPartitions, KafkaException, TopicCollection, TopicPartition
from confluent_kafka.admin import (
    AdminClient,
    AlterConfigOpType,
    ConfigEntry,
    ConfigResource,
    NewPartitions,
    NewTopic,
    OffsetSpec,
    ResourceType,
)

from serve import failure


def told_error(error):
    """librdkafka's own errors have negative numbers."""
    return failure(error.name(), error.code(), error.str())


def failure_of(error):
    if isinstance(error, KafkaException):
        return told_error(error.args[0])
    if isinstance(error, (ValueError, TypeError)):
        return failure(type(error).__name__, None, error)
    return None


def outcome(future):
    """None, or what it was refused for."""
    try:
        future.result()
        return None
    except KafkaException as error:
        return told_error(error.args[0])


class Admin:
    """The part of the adapter that uses AdminClient."""

    def __init__(self, bootstrap):
        self.bootstrap = bootstrap
        self._admin = None

    @property
    def admin(self):
        if self._admin is None:
            self._admin = AdminClient({"bootstrap.servers": self.bootstrap})
        return self._admin

    def createTopics(self, topics, validateOnly):
        wanted = [
            NewTopic(
                topic["name"],
                num_partitions=topic["partitions"],
                replication_factor=topic["replicationFactor"],
                config=topic["configs"],
            )
            for topic in topics
        ]
        done = self.admin.create_topics(wanted, validate_only=validateOnly, request_timeout=10)
        return {"topics": [{"name": name, "error": outcome(future)} for name, future in done.items()]}

    def deleteTopics(self, topics):
        done = self.admin.delete_topics(topics, request_timeout=10)
        return {"topics": [{"name": name, "error": outcome(future)} for name, future in done.items()]}

    def describeTopic(self, topic):
        found = self.admin.describe_topics(TopicCollection([topic]), request_timeout=10)[topic].result()
        return {
            "partitions": [
                {
                    "partition": each.id,
                    "leader": each.leader.id,
                    "replicas": [node.id for node in each.replicas],
                    "isr": [node.id for node in each.isr],
                }
                for each in found.partitions
            ]
        }

    def createPartitions(self, topic, total):
        self.admin.create_partitions([NewPartitions(topic, total)], request_timeout=10)[topic].result()
        return {}

    def _resource(self, kind, name, **options):
        return ConfigResource(ResourceType[kind.upper()], name, **options)

    def describeConfigs(self, kind, name):
        resource = self._resource(kind, name)
        found = self.admin.describe_configs([resource], request_timeout=10)[resource].result()
        return {
            "configs": [
                {
                    "name": config.name,
                    "value": config.value,
                    "isReadOnly": config.is_read_only,
                    "isSensitive": config.is_sensitive,
                    "source": config.source,
                }
                for config in found.values()
            ]
        }

    def alterConfigs(self, kind, name, set, remove):
        entries = [
            ConfigEntry(key, value, incremental_operation=AlterConfigOpType.SET) for key, value in set.items()
        ] + [ConfigEntry(key, None, incremental_operation=AlterConfigOpType.DELETE) for key in remove]
        resource = self._resource(kind, name, incremental_configs=entries)
        self.admin.incremental_alter_configs([resource], request_timeout=10)[resource].result()
        return {}

    def deleteRecords(self, topic, partition, before):
        place = TopicPartition(topic, partition, before)
        done = self.admin.delete_records([place], request_timeout=10)
        return {"lowWatermark": done[place].result().low_watermark}

    def listOffsets(self, topic, partitions, at):
        spec = OffsetSpec.earliest() if at == "earliest" else OffsetSpec.latest()
        wanted = {TopicPartition(topic, partition): spec for partition in partitions}
        done = self.admin.list_offsets(wanted, request_timeout=8)
        return {
            "offsets": [{"partition": place.partition, "offset": future.result().offset} for place, future in done.items()]
        }

    def listGroups(self):
        found = self.admin.list_consumer_groups(request_timeout=10).result()
        if found.errors:
            raise found.errors[0]
        return {
            "groups": [
                {"group": group.group_id, "state": group.state.name, "type": group.type and group.type.name}
                for group in found.valid
            ]
        }

    def describeGroup(self, group):
        found = self.admin.describe_consumer_groups([group], request_timeout=10)[group].result()
        members = [
            {
                "clientId": member.client_id,
                "instanceId": member.group_instance_id,
                "partitions": [
                    {"topic": place.topic, "partition": place.partition}
                    for place in (member.assignment.topic_partitions if member.assignment else [])
                ],
            }
            for member in found.members
        ]
        return {
            "state": found.state.name,
            "protocol": found.partition_assignor,
            "type": found.type and found.type.name,
            "members": members,
        }

    def deleteGroups(self, groups):
        done = self.admin.delete_consumer_groups(groups, request_timeout=10)
        return {"groups": [{"group": group, "error": outcome(future)} for group, future in done.items()]}

    def committed(self, group, topic, partitions):
        wanted = ConsumerGroupTopicPartitions(group, [TopicPartition(topic, partition) for partition in partitions])
        found = self.admin.list_consumer_group_offsets([wanted], request_timeout=10)[group].result()
        offsets = []
        for place in found.topic_partitions:
            if place.error is not None:
                raise KafkaException(place.error)
            # librdkafka's number for no offset.
            offset = -1 if place.offset == -1001 else place.offset
            offsets.append({"partition": place.partition, "offset": offset, "metadata": place.metadata})
        return {"offsets": offsets}

    def alterOffsets(self, group, topic, offsets):
        places = [TopicPartition(topic, each["partition"], each["offset"]) for each in offsets]
        wanted = ConsumerGroupTopicPartitions(group, places)
        done = self.admin.alter_consumer_group_offsets([wanted], request_timeout=10)[group].result()
        for place in done.topic_partitions:
            if place.error is not None:
                raise KafkaException(place.error)
        return {}
