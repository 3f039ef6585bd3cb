import { z } from 'zod'
import { refuse } from '../../../errors.ts'
import type { Clock } from '../../../lib/system/clock.ts'
import type { Random } from '../../../lib/system/random.ts'
import { type ClientCertificate, hasEnded } from '../certificates/client-certificate.ts'
import { makeCertificate } from '../certificates/make-certificate.ts'
import type { RootCredential } from '../config/choose-credential.ts'
import { configIsNil, defaultRootPasswordTtl } from '../config/config-record.ts'
import { effectiveClientId } from '../config/effective-settings.ts'
import type { MountState } from '../mount-state.ts'
import { rootPasswordPrefix } from '../upstream/directory/object-names.ts'
import { uploadCommand } from '../upstream/sign-in-refusals.ts'

/** A certificate without its key, and the command that adds it to the root application. */
export const shownCertificate = z.object({
  certificate: z.string().describe('PEM'),
  thumbprint: z.string().describe('SHA-1, in hexadecimal'),
  thumbprint_sha256: z.string(),
  expiration: z.string(),
  command: z.string().describe('Adds the certificate to the application'),
})
export type ShownCertificate = z.output<typeof shownCertificate>

/** The certificate that is to be uploaded, else the one in use. Throws `missing` if there is none. */
export async function rootCertificate(state: MountState): Promise<ShownCertificate> {
  const config = await state.findConfig()
  const found = config?.made_certificate ?? state.operator.certificate ?? config?.certificate
  if (found === undefined) throw refuse('missing', '')
  return shown(found, effectiveClientId(config, state.operator))
}

/**
 * Made for an operator to upload, in place of one that is not in use yet. Used once `auth_type` is `certificate` and
 * no other is configured, or that has ended. docs/contract/cloud.md#certificates
 */
export async function makeRootCertificate(
  seconds: number,
  parts: { readonly state: MountState; readonly clock: Clock; readonly random: Random },
): Promise<ShownCertificate> {
  const { state, clock, random } = parts
  const config = await state.findConfig()
  if (config === undefined) throw configIsNil()
  const clientId = effectiveClientId(config, state.operator)
  if (clientId === '') throw refuse('invalid', 'client_id is required')
  const made = await makeCertificate({
    commonName: rootPasswordPrefix(state.accessor).slice(0, -1),
    now: clock.now(),
    seconds: seconds || config.root_password_ttl || defaultRootPasswordTtl,
    random,
  })
  await state.changeConfig((before) => {
    if (before === undefined) throw configIsNil()
    return { config: { ...before, made_certificate: made } }
  })
  return shown(made, clientId)
}

/** The login service has accepted a credential: a certificate that was to be uploaded is in use from now on. */
export async function certificateAccepted(
  credential: RootCredential,
  state: MountState,
  now: number,
): Promise<void> {
  if (credential.type !== 'certificate') return
  const { thumbprint_sha256: used } = credential.certificate
  if ((await state.findConfig())?.made_certificate?.thumbprint_sha256 !== used) return
  await state.changeConfig((before) => {
    if (before?.made_certificate?.thumbprint_sha256 !== used) return 'keep'
    if (before.certificate !== undefined && !hasEnded(before.certificate, now)) return 'keep'
    const { made_certificate: certificate, ...config } = before
    return { config: { ...config, certificate } }
  })
}

const shown = (certificate: ClientCertificate, clientId: string): ShownCertificate =>
  shownCertificate.parse({ ...certificate, command: uploadCommand(clientId) })
