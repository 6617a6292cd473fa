import { bool, message, string, struct } from '../schema.ts'

/** The principal of a forwarded request, inside of Envelope (KIP-590). */
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
