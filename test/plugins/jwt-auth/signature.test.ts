import { createPublicKey } from 'node:crypto'
import { expect, test } from 'vitest'
import { CheckQueue } from '../../../src/jwt/jws/check-queue.ts'
import { parseJws } from '../../../src/jwt/jws/jws.ts'
import { verifyWithAny } from '../../../src/jwt/jws/signature.ts'
import { aSigner } from './signer.ts'

const other = createPublicKey(aSigner('ES512').pem)
const signer = aSigner('ES512')
const own = createPublicKey(signer.pem)

test.each([
  { name: 'the last of as many heavy keys as are tried', before: 127, signer: own },
  { name: 'a key beyond them is not reached', before: 128, signer: undefined },
])('a token without a key id costs a limited number of checks: $name', async ({ before, signer: found }) => {
  const jws = parseJws(signer.sign({ sub: 'a' }), { maxTokenSize: 0 })
  if ('malformed' in jws) throw new Error(jws.malformed)
  const keys = [...Array.from({ length: before }, () => other), own]

  expect(await verifyWithAny(jws, 'ES512', keys, { queue: new CheckQueue(64), client: '192.0.2.1' })).toBe(
    found,
  )
})
