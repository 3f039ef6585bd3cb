import { refuse } from '../../../errors.ts'
import { Thread } from '../../../lib/concurrency/thread.ts'
import type { Random } from '../../../lib/system/random.ts'
import type { CertificateAnswers } from './certificate-worker.ts'
import type { ClientCertificate } from './client-certificate.ts'

type Wanted = {
  readonly commonName: string
  /** In milliseconds since the epoch. */
  readonly now: number
  readonly seconds: number
  readonly random: Pick<Random, 'bytes'>
}

const serialBytes = 16
/** A hundred years: the end must be a valid date. */
const mostSeconds = 100 * 365 * 86_400
/** The clocks of the cloud may be behind ours. */
const backdatedMs = 300_000

/** It takes only the time that nobody else needs. The servers of a process share it. */
const thread = new Thread<CertificateAnswers>({
  program: new URL('./certificate-worker.ts', import.meta.url),
  name: 'certificates',
  niceness: 15,
  limits: { most: 200, ms: 60_000, refusal: () => refuse('overloaded', 'certificates take too long') },
})

/** Makes an RSA key of 2048 bits and a certificate that it signs itself, on another thread. */
export const makeCertificate = ({ commonName, now, seconds, random }: Wanted): Promise<ClientCertificate> =>
  thread.ask('make', {
    commonName,
    notBefore: now - backdatedMs,
    notAfter: now + Math.min(seconds, mostSeconds) * 1000,
    serialNumber: serialNumber(random),
  })

/** Positive, and without a leading zero byte. */
function serialNumber(random: Pick<Random, 'bytes'>): Uint8Array {
  const bytes = Uint8Array.from(random.bytes(serialBytes))
  bytes[0] = ((bytes[0] ?? 0) & 0x3f) | 0x40
  return bytes
}
