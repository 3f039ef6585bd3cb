import { execFileSync } from 'node:child_process'
import { X509Certificate } from 'node:crypto'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { systemRandom } from '../../../../src/lib/system/random.ts'
import { makeCertificate } from '../../../../src/plugins/cloud/certificates/make-certificate.ts'
import { readCertificate } from '../../../../src/plugins/cloud/certificates/read-certificate.ts'

const folder = mkdtempSync(join(tmpdir(), 'gatehouse-pfx-'))
const file = (name: string) => join(folder, name)
const read = (name: string) => readFileSync(file(name), 'utf8')
const base64 = (name: string) => readFileSync(file(name)).toString('base64')
const openssl = (...args: string[]) => void execFileSync('openssl', args, { stdio: 'pipe' })
const now = Date.now()
/** A certificate in PEM with other bytes in the place of the first of these. */
function changed(name: string, first: Buffer, others: Buffer): string {
  const bytes = Buffer.from(read(name).replace(/-----[A-Z ]+-----/g, ''), 'base64')
  bytes.set(others, bytes.indexOf(first))
  return `-----BEGIN CERTIFICATE-----\n${bytes.toString('base64')}\n-----END CERTIFICATE-----\n`
}
const ofUnknownAlgorithm = () =>
  changed('cert.pem', Buffer.from('2a864886f70d010101', 'hex'), Buffer.from('2a864886f70d010163', 'hex'))
/** The end of a certificate, as it is encoded. */
const encodedEnd = () => {
  const { validToDate } = new X509Certificate(read('cert.pem'))
  return Buffer.from(`${validToDate.toISOString().slice(2, 19).replace(/[-T:]/g, '')}Z`)
}
const pair = () => ['-inkey', file('key.pem'), '-in', file('cert.pem')]

beforeAll(() => {
  const subject = ['-nodes', '-subj', '/CN=root', '-days', '30']
  const certify = (algorithm: string[], name: string) =>
    openssl(
      ...['req', '-x509', '-newkey', ...algorithm, ...subject],
      ...['-keyout', file(`${name}key.pem`), '-out', file(`${name}cert.pem`)],
    )
  certify(['rsa:2048'], '')
  certify(['rsa:1024'], 'short-')
  certify(['ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1'], 'curve-')
  openssl('pkcs12', '-export', ...pair(), '-out', file('new.pfx'), '-passout', 'pass:word')
  openssl('pkcs12', '-export', ...pair(), '-out', file('bare.pfx'), '-passout', 'pass:')
  openssl(
    ...['pkcs12', '-export', '-certpbe', 'NONE', '-keypbe', 'NONE', '-nomac', ...pair()],
    ...['-out', file('open.pfx'), '-passout', 'pass:'],
  )
  openssl(
    ...['pkcs12', '-export', '-certpbe', 'PBE-SHA1-3DES', '-keypbe', 'PBE-SHA1-3DES', ...pair()],
    ...['-out', file('old.pfx'), '-passout', 'pass:word'],
  )
  openssl(
    ...['pkcs8', '-topk8', '-in', file('key.pem'), '-out', file('sealed-key.pem')],
    ...['-passout', 'pass:word', '-v2', 'aes256'],
  )
  openssl(
    ...['pkcs8', '-topk8', '-in', file('key.pem'), '-out', file('slow-key.pem')],
    ...['-passout', 'pass:word', '-v2', 'aes256', '-iter', '1000001'],
  )
  openssl(
    ...['pkcs8', '-topk8', '-in', file('curve-key.pem'), '-out', file('quick-key.pem')],
    ...['-passout', 'pass:word', '-v2', 'aes256', '-iter', '1'],
  )
})

afterAll(() => rmSync(folder, { recursive: true }))

// docs/contract/cloud.md#certificates
describe('a certificate is read from', () => {
  test.each([
    { name: 'PEM', text: () => read('key.pem') + read('cert.pem'), password: '' },
    {
      name: 'PEM with other certificates',
      text: () => read('curve-cert.pem') + read('cert.pem') + read('key.pem'),
    },
    {
      name: 'PEM with another certificate, whose key cannot be read',
      text: () => ofUnknownAlgorithm() + read('cert.pem') + read('key.pem'),
    },
    {
      name: 'PEM with an encrypted key',
      text: () => read('cert.pem') + read('sealed-key.pem'),
      password: 'word',
    },
    { name: 'a PFX file', text: () => base64('new.pfx'), password: 'word' },
    { name: 'a PFX file with an empty password', text: () => base64('bare.pfx') },
    { name: 'a PFX file without encryption', text: () => base64('open.pfx') },
  ])('$name', async ({ text, password = '' }) => {
    const { fingerprint, fingerprint256, validToDate } = new X509Certificate(read('cert.pem'))
    const plain = (shown: string) => shown.replaceAll(':', '').toLowerCase()

    const certificate = await readCertificate(text(), password, now)

    expect(certificate).toEqual({
      certificate: read('cert.pem'),
      private_key: read('key.pem'),
      thumbprint: plain(fingerprint),
      thumbprint_sha256: plain(fingerprint256),
      expiration: validToDate.toISOString(),
    })
  })
})

describe('a certificate is refused that', () => {
  const older =
    'it is encrypted by an older method than PBES2; convert a PFX file: openssl pkcs12 -legacy -in old.pfx -nodes -out client.pem'
  test.each([
    { name: 'has no key', text: () => read('cert.pem'), what: 'there is no private key' },
    {
      name: 'has two keys',
      text: () => read('key.pem').repeat(2),
      what: 'there is more than one private key',
    },
    { name: 'is only a key', text: () => read('key.pem'), what: 'there is no certificate' },
    {
      name: 'belongs to another key',
      text: () => read('key.pem') + read('short-cert.pem'),
      what: 'the private key does not match the certificate',
    },
    {
      name: 'has a key of another algorithm',
      text: () => read('curve-key.pem') + read('curve-cert.pem'),
      what: 'the private key is not an RSA key',
    },
    {
      name: 'has a short key',
      text: () => read('short-key.pem') + read('short-cert.pem'),
      what: 'the RSA key has 1024 bits, and at least 2048 are required',
    },
    {
      name: 'has ended',
      text: () => read('key.pem') + read('cert.pem'),
      at: now + 31 * 86_400_000,
      what: /^the certificate has ended on 20/,
    },
    { name: 'needs another password', text: () => base64('new.pfx'), password: 'no', what: 'wrong password' },
    {
      name: 'needs a password',
      text: () => read('sealed-key.pem') + read('cert.pem'),
      what: 'wrong password',
    },
    { name: 'is an older PFX file', text: () => base64('old.pfx'), password: 'word', what: older },
    {
      name: 'would keep the processor busy',
      text: () => read('slow-key.pem') + read('cert.pem'),
      password: 'word',
      what: 'its password needs more than 1000000 iterations',
    },
    { name: 'is no certificate', text: () => 'hello', what: 'it is neither PEM nor a PFX file in base64' },
    {
      name: 'is almost base64',
      text: () => `A${' '.repeat(65_000)}!`,
      what: 'it is neither PEM nor a PFX file in base64',
    },
    {
      name: 'has no end',
      text: () => read('key.pem') + changed('cert.pem', encodedEnd(), Buffer.from('991399000000Z')),
      what: 'the certificate cannot be read',
    },
    {
      name: 'has a key that cannot be read',
      text: () => read('key.pem') + ofUnknownAlgorithm(),
      what: 'the private key does not match the certificate',
    },
    { name: 'is too long', text: () => 'A'.repeat(65_537), what: 'it has more than 65536 characters' },
  ])('$name', async ({ text, password = '', at = now, what }) => {
    await expect(readCertificate(text(), password, at)).rejects.toThrow(what)
  })
})

test('a wrong password is called wrong, also if something can be decrypted with it', async () => {
  const text = read('quick-key.pem') + read('curve-cert.pem')
  const told = new Set<unknown>()
  for (let index = 0; index < 700; index++)
    told.add(await readCertificate(text, `not ${index}`, now).catch((error: Error) => error.message))

  expect([...told]).toEqual(['wrong password'])
})

test.each([
  { name: 'new.pfx', password: 'word', from: 50, to: 80 },
  { name: 'open.pfx', password: '', from: 150, to: 170 },
])('a zero among the headers of $name is a reason to refuse it', async ({ name, password, from, to }) => {
  const outcomes = new Set<unknown>()
  for (let index = from; index < to; index++) {
    const text = readFileSync(file(name))
      .fill(0, index, index + 1)
      .toString('base64')
    const outcome = await readCertificate(text, password, now).catch((error: Error) => error.name)
    outcomes.add(typeof outcome === 'string' ? outcome : 'read')
  }

  expect([...outcomes].filter((outcome) => outcome !== 'read')).toEqual(['UnusableCertificate'])
})

test('a certificate that is made here signs itself, and is read like any other', async () => {
  const wanted = { commonName: 'gatehouse-root-cloud_1', now, seconds: 3600, random: systemRandom }

  const made = await makeCertificate(wanted)

  const parsed = new X509Certificate(made.certificate)
  expect([parsed.verify(parsed.publicKey), parsed.subject, parsed.issuer]).toEqual([
    true,
    'CN=gatehouse-root-cloud_1',
    'CN=gatehouse-root-cloud_1',
  ])
  expect(await readCertificate(made.private_key + made.certificate, '', now)).toEqual(made)
  expect(Date.parse(made.expiration)).toBe(Math.floor((now + 3_600_000) / 1000) * 1000)
})
