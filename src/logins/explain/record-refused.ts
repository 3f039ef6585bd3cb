import type { Mount } from '../../core/mounts/mount.ts'
import type { Call } from '../../http/resource/resource.ts'
import type { LogLine } from '../../lib/system/log-fields.ts'
import type { LoginFailures, NewFailure } from './login-failures.ts'

type Where<Kept> = {
  readonly failures: Pick<LoginFailures<Kept>, 'isKept' | 'add'>
  readonly call: Pick<Call, 'requestId' | 'loginKind' | 'remoteAddress'>
  readonly mount: Mount
  readonly log: { readonly error: LogLine }
}

export type OfTheCall = 'request_id' | 'inline' | 'as_token' | 'remote_address'

/** Keeps a refused login. `describe` is not called if none are kept. Never rejects: the caller gets its refusal. */
export async function recordRefused<Kept>(
  { failures, call, mount, log }: Where<Kept>,
  describe: () => Promise<Omit<NewFailure<Kept>, OfTheCall>>,
): Promise<void> {
  if (!failures.isKept) return
  try {
    await failures.add({
      ...(await describe()),
      request_id: call.requestId,
      inline: call.loginKind !== 'login',
      as_token: call.loginKind === 'token',
      remote_address: call.remoteAddress,
    })
  } catch (err) {
    log.error({ event: 'work_failed', err, mount: mount.path }, 'a refused login could not be recorded')
  }
}
