import re

from kafka import KafkaAdminClient, TopicPartition
from kafka.admin import ConfigResource, ConfigResourceType
from kafka.errors import NoError, for_code
from kafka.structs import OffsetAndMetadata

from serve import failure


def error_of(code, message=None):
    return None if code == 0 else failure(for_code(code).__name__, code, message)


def raise_for(error):
    """Results hold classes of errors, NoError among them."""
    if error is not NoError:
        raise error()


class Admin:
    """The part of the adapter that uses KafkaAdminClient."""

    sources = {
        "DYNAMIC_TOPIC_CONFIG": 1,
        "DYNAMIC_BROKER_CONFIG": 2,
        "DYNAMIC_DEFAULT_BROKER_CONFIG": 3,
        "STATIC_BROKER_CONFIG": 4,
        "DEFAULT_CONFIG": 5,
    }

    def __init__(self, bootstrap):
        self.bootstrap = bootstrap
        self._admin = None

    @property
    def admin(self):
        if self._admin is None:
            self._admin = KafkaAdminClient(bootstrap_servers=self.bootstrap, request_timeout_ms=8_000)
        return self._admin

    def createTopics(self, topics, validateOnly):
        wanted = {
            topic["name"]: {
                "num_partitions": topic["partitions"],
                "replication_factor": topic["replicationFactor"],
                "configs": topic["configs"],
            }
            for topic in topics
        }
        done = self.admin.create_topics(wanted, validate_only=validateOnly, raise_errors=False)
        return {"topics": [self._named(topic) for topic in done["topics"]]}

    def _named(self, topic):
        return {"name": topic["name"], "error": error_of(topic["error_code"], topic.get("error_message"))}

    def deleteTopics(self, topics):
        done = self.admin.delete_topics(topics, raise_errors=False)
        return {"topics": [self._named(topic) for topic in done["topics"]]}

    def describeTopic(self, topic):
        [found] = self.admin.describe_topics([topic])
        if found["error_code"] != 0:
            raise for_code(found["error_code"])()
        return {
            "partitions": [
                {
                    "partition": each["partition_index"],
                    "leader": each["leader_id"],
                    "replicas": each["replica_nodes"],
                    "isr": each["isr_nodes"],
                }
                for each in sorted(found["partitions"], key=lambda each: each["partition_index"])
            ]
        }

    def createPartitions(self, topic, total):
        self.admin.create_partitions({topic: total})
        return {}

    def describeConfigs(self, kind, name):
        resource = ConfigResource(ConfigResourceType[kind.upper()], name)
        found = self.admin.describe_configs([resource], config_filter="all")[kind][name]
        return {
            "configs": [
                {
                    "name": key,
                    "value": config["value"],
                    "isReadOnly": config["read_only"],
                    "isSensitive": config["is_sensitive"],
                    "source": self.sources.get(config["config_source"], 0),
                }
                for key, config in found.items()
            ]
        }

    def alterConfigs(self, kind, name, set, remove):
        changes = {**{key: ("SET", value) for key, value in set.items()}, **{key: ("DELETE", None) for key in remove}}
        resource = ConfigResource(ConfigResourceType[kind.upper()], name, changes)
        result = self.admin.alter_configs([resource], raise_on_unknown=False)[kind][name]
        if result == "OK":
            return {}
        # It tells an error as text: "[Error 40] InvalidConfigurationError: …"
        code = int(re.match(r"\[Error (\d+)\]", result).group(1))
        raise for_code(code)(result)

    def deleteRecords(self, topic, partition, before):
        place = TopicPartition(topic, partition)
        return {"lowWatermark": self.admin.delete_records({place: before})[place]["low_watermark"]}

    def listGroups(self):
        return {
            "groups": [
                {
                    "group": group["group_id"],
                    "protocolType": group["protocol_type"],
                    "state": group.get("group_state"),
                    "type": group.get("group_type"),
                }
                for group in self.admin.list_groups()
            ]
        }

    def describeGroup(self, group):
        found = self.admin.describe_groups([group])[group]
        members = [
            {
                "clientId": member["client_id"],
                "instanceId": member.get("group_instance_id"),
                "partitions": [
                    {"topic": assigned["topic"], "partition": partition}
                    for assigned in (member["member_assignment"] or {}).get("assigned_partitions", [])
                    for partition in assigned["partitions"]
                ],
            }
            for member in found["members"]
        ]
        return {
            "state": found["group_state"],
            "protocolType": found["protocol_type"],
            "protocol": found["protocol_data"],
            "members": members,
            "error": found["error"] and found["error"].split(":")[0],
        }

    def deleteGroups(self, groups):
        done = self.admin.delete_groups(groups)
        return {
            "groups": [
                {"group": group, "error": None if error == "OK" else failure(error, None, error)}
                for group, error in done.items()
            ]
        }

    def committed(self, group, topic, partitions):
        places = [TopicPartition(topic, partition) for partition in partitions]
        found = self.admin.list_group_offsets({group: places})[group]
        return {
            "offsets": [
                {"partition": place.partition, "offset": found[place].offset, "metadata": found[place].metadata}
                for place in places
            ]
        }

    def alterOffsets(self, group, topic, offsets):
        wanted = {TopicPartition(topic, each["partition"]): OffsetAndMetadata(each["offset"], "", -1) for each in offsets}
        for error in self.admin.alter_group_offsets(group, wanted).values():
            raise_for(error)
        return {}

    def deleteOffsets(self, group, topic, partitions):
        places = [TopicPartition(topic, partition) for partition in partitions]
        for error in self.admin.delete_group_offsets(group, places).values():
            raise_for(error)
        return {}
