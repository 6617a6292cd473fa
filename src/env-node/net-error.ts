import { NetError } from '../env/net.ts'

export function toNetError(error: Error): NetError {
  if (error instanceof NetError) return error
  // Several addresses were tried (localhost is two): the first failure stands for all.
  if (error instanceof AggregateError && error.errors[0]) return toNetError(error.errors[0] as Error)
  const { code } = error as NodeJS.ErrnoException
  return new NetError(code ?? 'EUNKNOWN', error.message, { cause: error })
}
