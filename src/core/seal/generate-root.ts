import { Buffer } from 'node:buffer'
import { refuse } from '../../errors.ts'
import type { Clock } from '../../lib/system/clock.ts'
import { base62, type Random } from '../../lib/system/random.ts'
import { quoted } from '../../lib/text/go-text.ts'
import type { HeldKey } from './held-key.ts'
import { readPgpKey } from './pgp.ts'
import { ShareProgress } from './share-progress.ts'

export type GenerateRootParts = {
  /** The key whose holders authorize a root token. */
  held(): Promise<Pick<HeldKey, 'counts' | 'matches'>>
  /** Creates a root token, passing its id to `encode` before it becomes valid. */
  makeRootToken(encode: (id: string) => Promise<string>): Promise<string>
  readonly clock: Clock
  readonly random: Random
}

/** What a client is told about a root token to be generated, in the words of the API. */
export type GenerateRootStatus = Awaited<ReturnType<GenerateRoot['status']>>

/** How the token is encoded: it must reach only the client that began. */
type Attempt = { readonly fingerprint: string; encode(token: string): Promise<string> }

/** Length of a root token, `hvs.` and 24 characters, and so of what hides it. */
const otpLength = 28

/**
 * Generates a root token once the holders of a key authorize it share by share. One at a time; it ends after
 * a while without progress. docs/contract/seal.md#generate-root
 */
export class GenerateRoot implements Disposable {
  readonly #parts: GenerateRootParts
  readonly #progress: ShareProgress
  #attempt: Attempt | undefined

  constructor(parts: GenerateRootParts) {
    this.#parts = parts
    this.#progress = new ShareProgress({ ...parts, onExpired: () => this.#end() })
  }

  async status() {
    const counts = await (await this.#parts.held()).counts()
    const { nonce, count: progress } = this.#progress
    return {
      nonce,
      progress,
      started: nonce !== '',
      required: counts?.threshold ?? 0,
      complete: false,
      encoded_token: '',
      encoded_root_token: '',
      pgp_fingerprint: this.#attempt?.fingerprint ?? '',
      otp: '',
      otp_length: otpLength,
    }
  }

  /** Begins. Returns a new one-time password unless the client sent one or a PGP key. Throws a refusal. */
  start({ otp, pgpKey }: { otp: string; pgpKey: string }): Promise<GenerateRootStatus> {
    return this.#progress.exclusively(async () => {
      const { random, held } = this.#parts
      const made = otp === '' && pgpKey === '' ? base62(random, otpLength) : ''
      const attempt = pgpKey === '' || otp !== '' ? withOtp(otp || made) : await this.#withPgpKey(pgpKey)
      if ((await (await held()).counts()) === undefined)
        throw refuse('invalid', 'no recovery key exists: create one with sys/rekey-recovery-key/init')
      if (this.#progress.nonce !== '') throw refuse('invalid', 'root generation already in progress')
      this.#progress.begin()
      this.#attempt = attempt
      return { ...(await this.status()), otp: made }
    })
  }

  /** Takes over a share; the last one gets the token. Throws a refusal. */
  update(share: Buffer, nonce: string): Promise<GenerateRootStatus> {
    return this.#progress.offered(share, () => this.#update(share, nonce))
  }

  async #update(share: Buffer, nonce: string): Promise<GenerateRootStatus> {
    const held = await this.#parts.held()
    const status = await this.status()
    const attempt = this.#attempt
    if (!status.started || attempt === undefined) throw refuse('invalid', 'no root generation in progress')
    if (nonce !== status.nonce)
      throw refuse(
        'invalid',
        `incorrect nonce supplied; nonce for this root generation operation is ${quoted(status.nonce)}`,
      )
    if (!this.#progress.add(share))
      throw refuse('invalid', 'given key has already been provided during this generation operation')
    const { count: progress } = this.#progress
    if (progress < status.required) return { ...status, progress }
    await this.#progress.authorize(held.matches, 'root generation aborted')
    const token = await this.#parts.makeRootToken((id) => attempt.encode(id))
    this.#end()
    return { ...status, progress, complete: true, encoded_token: token, encoded_root_token: token }
  }

  /** Forgets what is in progress, if anything. */
  cancel(): Promise<void> {
    return this.#progress.exclusively(async () => this.#end())
  }

  [Symbol.dispose](): void {
    this.#end()
    this.#progress[Symbol.dispose]()
  }

  async #withPgpKey(text: string): Promise<Attempt> {
    const { fingerprint, encrypt } = await readPgpKey(
      text,
      this.#parts.clock.now(),
      'error parsing PGP key: ',
    )
    return { fingerprint, encode: async (token) => (await encrypt(Buffer.from(token))).toString('base64') }
  }

  #end(): void {
    this.#attempt = undefined
    this.#progress.discard()
  }
}

function withOtp(otp: string): Attempt {
  const pad = Buffer.from(otp)
  if (pad.length !== otpLength) throw refuse('invalid', 'OTP string is wrong length')
  return {
    fingerprint: '',
    encode: async (token) => xor(Buffer.from(token), pad).toString('base64').replace(/=+$/, ''),
  }
}

/** The XOR of two texts of one length; hides one of them, and shows it again. */
export const xor = (one: Uint8Array, other: Uint8Array): Buffer =>
  Buffer.from(one.map((byte, index) => byte ^ (other[index] ?? 0)))
