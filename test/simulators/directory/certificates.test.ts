import { X509Certificate } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { connect } from 'node:tls'
import { expect, test } from 'vitest'
import { makeCertificates } from '../../../simulators/directory/certificates.ts'
import { der } from '../../../simulators/directory/der.ts'
import { startDirectory } from '../../../simulators/directory/start-directory.ts'

test('the server certificate is signed by the authority, for loopback, and is not an authority itself', () => {
  const { ca, cert } = makeCertificates()
  const [authority, server] = [new X509Certificate(ca), new X509Certificate(cert)]

  expect([
    server.verify(authority.publicKey),
    server.checkIssued(authority),
    authority.ca,
    server.ca,
  ]).toEqual([true, true, true, false])
  expect([server.checkHost('localhost'), server.checkIP('127.0.0.1'), server.checkIP('::1')]).toEqual([
    'localhost',
    '127.0.0.1',
    '::1',
  ])
  expect(server.checkHost('example.com')).toBeUndefined()
  expect(Date.parse(server.validFrom)).toBeLessThan(Date.now())
  expect(Date.parse(server.validTo)).toBeGreaterThan(Date.now() + 9 * 365 * 86_400_000)
})

test.each([
  { name: 'a short length', bytes: der.octets(new Uint8Array(127)), head: '047f' },
  { name: 'a long length', bytes: der.octets(new Uint8Array(128)), head: '048180' },
  { name: 'a longer length', bytes: der.octets(new Uint8Array(256)), head: '04820100' },
  { name: 'an integer that would be negative', bytes: der.integer(Uint8Array.of(0x80)), head: '02020080' },
  { name: 'an object identifier', bytes: der.oid('1.2.840.10045.4.3.2'), head: '06082a8648ce3d040302' },
  {
    name: 'a time before 2050',
    bytes: der.time(new Date('2049-12-31T23:59:59Z')),
    head: '170d3439313233313233353935395a',
  },
  {
    name: 'a time after it',
    bytes: der.time(new Date('2050-01-01T00:00:00Z')),
    head: '180f32303530303130313030303030305a',
  },
])('DER encodes $name', ({ bytes, head }) => {
  expect(Buffer.from(bytes).toString('hex').slice(0, head.length)).toBe(head)
})

test('a client that does not trust the authority cannot connect, and the file is removed afterwards', async () => {
  const directory = await startDirectory()
  const port = Number(new URL(directory.directoryUrl).port)
  const trust = (ca: string | undefined) =>
    new Promise<string>((resolve) => {
      const socket = connect({ host: '127.0.0.1', port, ca }, () => {
        resolve('trusted')
        socket.destroy()
      })
      socket.on('error', (error) => resolve('code' in error ? String(error.code) : error.message))
    })

  const file = await readFile(directory.caFile, 'utf8')
  const outcomes = [await trust(file), await trust(undefined)]
  await directory[Symbol.asyncDispose]()

  expect(file).toBe(directory.ca)
  expect(outcomes).toEqual(['trusted', 'SELF_SIGNED_CERT_IN_CHAIN'])
  await expect(readFile(directory.caFile)).rejects.toThrow(/ENOENT/)
})
