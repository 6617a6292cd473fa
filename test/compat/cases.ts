import type { Case } from './case.ts'
import { configCases } from './cases/configs.ts'
import { groupAdminCases } from './cases/group-admin.ts'
import { groupCases } from './cases/groups.ts'
import { offsetCases } from './cases/offsets.ts'
import { producingCases } from './cases/producing.ts'
import { recordCases } from './cases/records.ts'
import { topicCases } from './cases/topics.ts'

/** What every client is put through, apart from what it says it lacks. */
export const commonCases: readonly Case[] = [
  ...recordCases,
  ...producingCases,
  ...offsetCases,
  ...groupCases,
  ...topicCases,
  ...configCases,
  ...groupAdminCases,
]
