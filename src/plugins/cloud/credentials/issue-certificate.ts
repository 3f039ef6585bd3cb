import type { ClientCertificate } from '../certificates/client-certificate.ts'
import { makeCertificate } from '../certificates/make-certificate.ts'
import { certificateProof } from '../sign-in/assertions.ts'
import type { NewCertificateKey } from '../upstream/directory/directory.ts'
import type { AddedPassword } from '../upstream/directory/directory-answers.ts'
import { principalPasswordName } from '../upstream/directory/object-names.ts'
import type { IssueWork } from '../upstream-work.ts'
import { type NewCredential, passwordIssued } from './new-credential.ts'

/** A certificate with its key, and what the directory gets of it. */
export type NewCertificate = ClientCertificate & {
  readonly upload: NewCertificateKey
  readonly endDateTime: string
}

/** Makes the certificate of a new application. docs/contract/cloud.md#certificates-of-roles */
export async function newCertificate({ clock, random, secretSeconds }: IssueWork): Promise<NewCertificate> {
  const displayName = principalPasswordName(random.uuid())
  const made = await makeCertificate({
    commonName: displayName,
    seconds: secretSeconds,
    now: clock.now(),
    random,
  })
  return { ...made, upload: { displayName, certificate: made.certificate }, endDateTime: made.expiration }
}

/** What the client gets, and how the credential signs in. */
export function issuedOf(
  clientId: string,
  secret: AddedPassword | NewCertificate,
  { upstream, clock, random: identifiers }: IssueWork,
): Pick<NewCredential, 'answer' | 'proof'> {
  if (!('private_key' in secret)) return passwordIssued(secret.secretText)
  const { certificate, private_key, expiration } = secret
  return {
    answer: {
      tenant_id: upstream.settings.tenantId,
      certificate,
      private_key,
      certificate_expiration: expiration,
    },
    proof: certificateProof(clientId, secret, { clock, identifiers }),
  }
}
