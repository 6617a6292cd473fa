import assert from 'node:assert/strict'
import { test } from 'node:test'
import { addressBytes } from './envelope-codec.ts'

test('addresses of clients as the bytes that Java makes an InetAddress of', () => {
  for (const [host, bytes] of [
    ['127.0.0.1', '7f000001'],
    ['::ffff:10.0.0.5', '0a000005'],
    ['::1', '00000000000000000000000000000001'],
    ['2001:db8::8a2e:370:7334', '20010db80000000000008a2e03707334'],
    ['fe80::1%eth0', 'fe800000000000000000000000000001'],
    ['::', '00000000000000000000000000000000'],
  ] as const) {
    assert.equal(addressBytes(host).toString('hex'), bytes, host)
  }
})
