import type { View } from '../../barrier/view.ts'
import { laterFields, readTokenRole, type TokenRole, type TokenRoleRecord } from './token-role.ts'

const root = 'token-role/'
const folder = (namespace: string): string => `${root}${namespace}/`
const roleKey = (namespace: string, name: string): string => folder(namespace) + name

/** Token-store roles of all namespaces. docs/contract/tokens-and-policies.md#token-roles */
export class TokenRoleStore {
  readonly #view: View

  /** `view` is the one that stores the tokens. */
  constructor(view: View) {
    this.#view = view
  }

  /** The key of the record, from the root of the storage. */
  recordKey(namespace: string, name: string): string {
    return this.#view.fromRoot({ key: roleKey(namespace, name), value: undefined }).key
  }

  async find(namespace: string, name: string): Promise<TokenRole | undefined> {
    const stored = await this.#view.get(roleKey(namespace, name))
    return stored === undefined ? undefined : readTokenRole(name, stored)
  }

  /**
   * Writes the record that `change` makes from the stored one, and returns the new role. `change` may be
   * called again; an error it throws aborts the write.
   */
  async change(
    namespace: string,
    name: string,
    change: (before: TokenRoleRecord | undefined) => TokenRoleRecord,
  ): Promise<TokenRole> {
    const key = roleKey(namespace, name)
    const stored = await this.#view.update(key, (current) =>
      current === undefined
        ? change(undefined)
        : { ...laterFields(current), ...change(readTokenRole(name, current).record) },
    )
    return readTokenRole(name, stored)
  }

  async remove(namespace: string, name: string): Promise<void> {
    await this.#view.write([{ key: roleKey(namespace, name), value: undefined }])
  }

  /** Sorted. */
  async names(namespace: string): Promise<string[]> {
    const keys = await this.#view.listKeys(folder(namespace))
    return keys.map((key) => key.slice(folder(namespace).length))
  }

  /** Leaves cached roles alone: namespace ids are never reused. */
  async removeNamespace(namespace: string): Promise<void> {
    await this.#view.view('', { isUncopied: true }).deletePrefix(folder(namespace))
  }
}
