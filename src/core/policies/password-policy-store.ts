import { z } from 'zod'
import { fail, refuse } from '../../errors.ts'
import type { Random } from '../../lib/system/random.ts'
import type { View } from '../barrier/view.ts'
import { generatePassword, parsePasswordPolicy } from './password-policy.ts'
import { decodePolicyText } from './policy.ts'

const root = 'password-policy/'
const record = z.object({ policy: z.string() })
const folder = (namespace: string): string => `${root}${namespace}/`

/** The password policies of all namespaces. docs/contract/tokens-and-policies.md#password-policies */
export class PasswordPolicyStore {
  readonly #view: View
  readonly #random: Random

  /** `view` is the core's. */
  constructor(view: View, random: Random) {
    this.#view = view
    this.#random = random
  }

  /** The key of the record, from the root of the storage. */
  recordKey(namespace: string, name: string): string {
    return this.#view.fromRoot({ key: folder(namespace) + name, value: undefined }).key
  }

  /** The text as it was written. */
  async find(namespace: string, name: string): Promise<string | undefined> {
    const stored = await this.#view.get(folder(namespace) + name)
    if (stored === undefined) return undefined
    const { data: read } = record.safeParse(stored)
    if (read === undefined) throw fail('internal', `password policy ${JSON.stringify(name)} cannot be read`)
    return read.policy
  }

  /** Creates or replaces a policy; the text may be base64. Throws `invalid`. */
  async put(namespace: string, name: string, text: string): Promise<void> {
    if (text === '') throw refuse('invalid', 'missing policy')
    const policy = decodePolicyText(text)
    parsePasswordPolicy(policy)
    await this.#view.write([{ key: folder(namespace) + name, value: { policy } }])
  }

  async remove(namespace: string, name: string): Promise<void> {
    await this.#view.write([{ key: folder(namespace) + name, value: undefined }])
  }

  /** Sorted. */
  async names(namespace: string): Promise<string[]> {
    const keys = await this.#view.listKeys(folder(namespace))
    return keys.map((key) => key.slice(folder(namespace).length))
  }

  /** Makes passwords by a policy; undefined if there is none of this name. */
  async generator(namespace: string, name: string): Promise<(() => string) | undefined> {
    const text = await this.find(namespace, name)
    if (text === undefined) return undefined
    const policy = parsePasswordPolicy(text)
    return () => generatePassword(policy, this.#random)
  }

  async removeNamespace(namespace: string): Promise<void> {
    await this.#view.deletePrefix(folder(namespace))
  }
}
