import { bool, message, string, struct } from '../schema.ts'

export const DefaultPrincipalData = message({
  name: 'DefaultPrincipalData',
  versions: [0, 0],
  flexible: 0,
  fields: struct({
    type: string,
    name: string,
    tokenAuthenticated: bool,
  }),
})
