const FIXED = /^(big|little|hex)(64|32|16|8|4)$/

/**
 * How a number is printed, by its name in rpk's grammar: `ascii` (the default), `hex64` to `hex4`, `big64` to `big8`,
 * `little64` to `little8`, `byte`, `bool`. Null when the name is unknown.
 */
export function numberFormat(name: string): ((value: number) => Buffer) | null {
  if (name === '' || name === 'ascii' || name === 'number') return (value) => Buffer.from(String(value))
  if (name === 'bool') return (value) => Buffer.from(value === 0 ? 'false' : 'true')
  if (name === 'byte') return (value) => Buffer.from([value & 0xff])
  const match = FIXED.exec(name)
  if (match === null) return null
  const order = match[1] as string
  const bits = Number(match[2])
  if (order === 'hex') return (value) => Buffer.from(hexOf(value, bits))
  if (bits === 4) return null
  return (value) => {
    const bytes = Buffer.from(hexOf(value, bits), 'hex')
    return order === 'little' ? bytes.reverse() : bytes
  }
}

/** The low `bits` of the number, two's complement. */
function hexOf(value: number, bits: number): string {
  return BigInt.asUintN(bits, BigInt(Math.trunc(value)))
    .toString(16)
    .padStart(bits / 4, '0')
}
