import { createHash, generateKeyPairSync, type KeyObject, randomBytes, sign } from 'node:crypto'
import { der } from './der.ts'

/** A server's certificate with its key, and the CA that signed it, as PEM. */
export type Certificates = { ca: string; cert: string; key: string }

const oids = {
  commonName: '2.5.4.3',
  ecdsaWithSha256: '1.2.840.10045.4.3.2',
  subjectKeyId: '2.5.29.14',
  keyUsage: '2.5.29.15',
  subjectAltName: '2.5.29.17',
  basicConstraints: '2.5.29.19',
  authorityKeyId: '2.5.29.35',
  extendedKeyUsage: '2.5.29.37',
  serverAuth: '1.3.6.1.5.5.7.3.1',
}

const dayMs = 86_400_000
const loopbackAddresses = [Uint8Array.of(127, 0, 0, 1), Uint8Array.from([...new Uint8Array(15), 1])]

let ofProcess: Certificates | undefined

/** Those that all stand-ins of this process present: whoever trusts one of them trusts each. */
export const certificatesOfProcess = (): Certificates => (ofProcess ??= makeCertificates())

type Party = { name: string; publicKey: KeyObject; privateKey: KeyObject }

/** Creates a CA and a certificate for `localhost`, 127.0.0.1 and ::1, valid for ten years. RFC 5280 §4 */
export function makeCertificates(): Certificates {
  const authority = makeParty('Directory simulator CA')
  const server = makeParty('localhost')
  const ca = certificateOf(authority, authority, [
    extension(oids.basicConstraints, der.sequence(der.boolean(true)), true),
    // keyCertSign and cRLSign
    extension(oids.keyUsage, der.bits(Uint8Array.of(0b0000_0110), 1), true),
  ])
  const cert = certificateOf(server, authority, [
    extension(oids.basicConstraints, der.sequence(), true),
    // digitalSignature
    extension(oids.keyUsage, der.bits(Uint8Array.of(0b1000_0000), 7), true),
    extension(oids.extendedKeyUsage, der.sequence(der.oid(oids.serverAuth))),
    extension(
      oids.subjectAltName,
      der.sequence(
        der.implicit(2, Buffer.from('localhost')),
        ...loopbackAddresses.map((ip) => der.implicit(7, ip)),
      ),
    ),
  ])
  return { ca, cert: cert + ca, key: server.privateKey.export({ type: 'pkcs8', format: 'pem' }).toString() }
}

function makeParty(name: string): Party {
  return { name, ...generateKeyPairSync('ec', { namedCurve: 'P-256' }) }
}

function certificateOf(subject: Party, issuer: Party, extensions: Uint8Array[]): string {
  const now = Date.now()
  const algorithm = der.sequence(der.oid(oids.ecdsaWithSha256))
  const toBeSigned = der.sequence(
    der.explicit(0, der.integer(Uint8Array.of(2))),
    der.integer(Uint8Array.of(1, ...randomBytes(15))),
    algorithm,
    nameOf(issuer),
    der.sequence(der.time(new Date(now - dayMs)), der.time(new Date(now + 3650 * dayMs))),
    nameOf(subject),
    spkiOf(subject),
    der.explicit(
      3,
      der.sequence(
        ...extensions,
        extension(oids.subjectKeyId, der.octets(keyIdOf(subject))),
        extension(oids.authorityKeyId, der.sequence(der.implicit(0, keyIdOf(issuer)))),
      ),
    ),
  )
  const signature = sign('sha256', toBeSigned, issuer.privateKey)
  return pemOf(der.sequence(toBeSigned, algorithm, der.bits(signature)))
}

const nameOf = ({ name }: Party) =>
  der.sequence(der.set(der.sequence(der.oid(oids.commonName), der.text(name))))

const spkiOf = ({ publicKey }: Party) => publicKey.export({ type: 'spki', format: 'der' })

const keyIdOf = (party: Party) => createHash('sha1').update(spkiOf(party)).digest()

const extension = (oid: string, value: Uint8Array, critical = false) =>
  der.sequence(der.oid(oid), ...(critical ? [der.boolean(true)] : []), der.octets(value))

const pemOf = (bytes: Uint8Array) =>
  `-----BEGIN CERTIFICATE-----\n${Buffer.from(bytes)
    .toString('base64')
    .replace(/.{1,64}/g, '$&\n')}-----END CERTIFICATE-----\n`
