import {
  createMessage,
  decrypt,
  generateKey,
  type PrivateKey,
  readMessage,
  reformatKey,
  revokeKey,
} from 'openpgp'
import { expect, test } from 'vitest'
import { readPgpKey, readPgpKeys } from '../../../src/core/seal/pgp.ts'

const now = Date.UTC(2026, 10, 22)
const day = 86_400_000
const date = new Date(now - day)

const aKey = (options: object = {}): Promise<{ privateKey: PrivateKey }> =>
  generateKey({ type: 'curve25519', userIDs: [{ name: 'holder' }], date, format: 'object', ...options })
const base64 = (bytes: Uint8Array) => Buffer.from(bytes).toString('base64')
const publicText = ({ privateKey }: { privateKey: PrivateKey }) => base64(privateKey.toPublic().write())
const known = aKey()
const openKey = () => known

test('a message is readable by the owner of the key alone, byte for byte', async () => {
  const owner = await openKey()
  const key = await readPgpKey(publicText(owner), now, '')

  const sealed = await key.encrypt(Buffer.from('0a0b'))

  const message = await readMessage({ binaryMessage: sealed })
  const opened = await decrypt({
    message,
    decryptionKeys: owner.privateKey,
    format: 'binary',
    date: new Date(now),
  })
  expect(Buffer.from(opened.data).toString()).toBe('0a0b')
  expect(key.fingerprint).toBe(owner.privateKey.getFingerprint())
  expect(key.fingerprint).toMatch(/^[0-9a-f]{40}$/)
  const { privateKey: stranger } = await aKey()
  await expect(
    decrypt({ message: await readMessage({ binaryMessage: sealed }), decryptionKeys: stranger }),
  ).rejects.toThrow()
})

test('keys are returned in the order in which they were sent', async () => {
  const keys = [await openKey(), await aKey(), await openKey()]

  const read = await readPgpKeys(keys.map(publicText), now, '')

  expect(read.map(({ fingerprint }) => fingerprint)).toEqual(
    keys.map(({ privateKey }) => privateKey.getFingerprint()),
  )
})

test.each([
  { name: 'RSA', options: { type: 'rsa', rsaBits: 2048 } },
  { name: 'NIST P-256', options: { type: 'ecc', curve: 'nistP256' } },
])('a key of type $name is accepted', async ({ options }) => {
  await expect(readPgpKey(publicText(await aKey(options)), now, '')).resolves.toBeDefined()
})

const parsing = /^error parsing given PGP key: /
const encrypting = /^error setting up encryption for PGP message: /

test.each([
  {
    name: 'text that is no base64',
    text: async () => 'x!',
    refusal: /^error decoding given PGP key: illegal base64 data/,
  },
  { name: 'no key at all', text: async () => '', refusal: parsing },
  { name: 'bytes that are no key', text: async () => base64(Buffer.from('foo\n')), refusal: parsing },
  {
    name: 'a message instead of a key',
    text: async () => base64((await createMessage({ text: 'x' })).write()),
    refusal: parsing,
  },
  {
    name: 'a cut key',
    text: async () => base64((await openKey()).privateKey.toPublic().write().slice(0, 60)),
    refusal: parsing,
  },
  {
    name: 'a private key',
    text: async () => base64((await openKey()).privateKey.write()),
    refusal: /it is a private key$/,
  },
  {
    name: 'an expired key',
    text: async () => publicText(await aKey({ keyExpirationTime: 60 })),
    refusal: encrypting,
  },
  {
    name: 'a key of the future',
    text: async () => publicText(await aKey({ date: new Date(now + day) })),
    refusal: encrypting,
  },
  {
    name: 'a revoked key',
    text: async () => {
      const { privateKey: key } = await aKey()
      const revoked = await revokeKey({ key, date: new Date(now - 1000), format: 'object' })
      return publicText({ privateKey: revoked.privateKey as PrivateKey })
    },
    refusal: encrypting,
  },
  {
    name: 'a key that only signs',
    text: async () => publicText(await aKey({ subkeys: [{ sign: true }] })),
    refusal: encrypting,
  },
  {
    name: 'a key whose numbers make no sense',
    text: async () => {
      const { privateKey } = await aKey()
      const numbers: Record<string, Uint8Array> = { ...privateKey.subkeys[0]?.keyPacket.publicParams }
      for (const number of Object.values(numbers)) number.fill(0)
      const userIDs = [{ name: 'holder' }]
      return publicText(await reformatKey({ privateKey, userIDs, date, format: 'object' }))
    },
    refusal: encrypting,
  },
  {
    name: 'a weak key',
    text: async () => publicText(await aKey({ type: 'rsa', rsaBits: 1024, config: { minRSABits: 1024 } })),
    refusal: encrypting,
  },
  {
    name: 'a key with too many subkeys',
    text: async () => publicText(await aKey({ subkeys: Array.from({ length: 33 }, () => ({})) })),
    refusal: /it has more than 32 subkeys$/,
  },
  {
    name: 'a huge key',
    text: async () => base64(Buffer.alloc(65_537)),
    refusal: /it is larger than 65536 bytes$/,
  },
])('$name is refused', async ({ text, refusal }) => {
  await expect(readPgpKey(await text(), now, '')).rejects.toThrow(refusal)
})
