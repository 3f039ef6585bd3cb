import { randomUUID } from 'node:crypto'

/** A service account in a namespace. */
export type Account = { readonly uid: string; annotations: Readonly<Record<string, string>> }

/** Who a token says it is. */
export type Owner = { readonly namespace: string; readonly name: string; readonly uid: string }

/** What a bearer may do. */
export type Right = 'review' | 'namespaces' | 'accounts'

/** Namespaces with their labels, service accounts, and who may do what. */
export class Objects {
  readonly labels = new Map<string, Readonly<Record<string, string>>>()
  readonly rights = new Map<string, ReadonlySet<Right>>()
  /** Tokens whose pod or secret was deleted. */
  readonly deleted = new Set<string>()
  readonly #accounts = new Map<string, Account>()

  /** Creates a service account; one of that name is deleted before. Returns its uid. */
  createAccount(namespace: string, name: string, annotations: Account['annotations'] = {}): string {
    const uid = randomUUID()
    this.#accounts.set(`${namespace}/${name}`, { uid, annotations })
    return uid
  }

  deleteAccount(namespace: string, name: string): void {
    this.#accounts.delete(`${namespace}/${name}`)
  }

  account(namespace: string, name: string): Account | undefined {
    return this.#accounts.get(`${namespace}/${name}`)
  }

  /** Whether there is this account still, and no other of its name. */
  exists({ namespace, name, uid }: Owner): boolean {
    return uid !== '' && this.account(namespace, name)?.uid === uid
  }

  may(bearer: string, right: Right): boolean {
    return this.rights.get(bearer)?.has(right) ?? false
  }
}
