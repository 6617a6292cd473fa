import type { BrokerContext } from '../../controller/config-view.ts'
import { describeConfigs as describe, type LoggerLevels } from '../../controller/describe-configs.ts'
import { DescribeConfigs } from '../../protocol/apis/describe-configs.ts'
import { type ServedApi, serve } from '../dispatch/served-api.ts'
import type { MetadataSource } from '../services.ts'

/** Served from 1 to 4: topics, this broker, its loggers, groups, client metrics. */
export function describeConfigs(source: MetadataSource, broker: BrokerContext, levels: () => LoggerLevels): ServedApi {
  return serve(DescribeConfigs, (request) => describe(source.image(), broker, levels(), request))
}
