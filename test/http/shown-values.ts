type Json = { readonly [name: string]: unknown }

/** Where values of a field come from: the name of a member of a response, or that and the path it came from. */
const sources: Readonly<Record<string, string>> = {
  token: 'client_token',
  accessor: 'accessor',
  mount_accessor: 'mount_accessor',
  entity_id: 'identity/entity:id',
  entity_ids: 'identity/entity:id',
  from_entity_ids: 'identity/entity:id',
  to_entity_id: 'identity/entity:id',
  member_entity_ids: 'identity/entity:id',
  member_group_ids: 'identity/group:id',
  lease_id: 'lease_id',
  nonce: 'nonce',
  from: 'sys/mounts:path',
  unlock_key: 'unlock_key',
}
/** Of parameters in paths: these paths are about what others create. */
const elsewhere: Readonly<Record<string, string>> = { 'sys/audit-hash:path': 'sys/audit:path' }
const mostOfOne = 8

/** The values of the server's responses that later requests may refer to, as a client would. */
export class ShownValues {
  readonly #byName = new Map<string, unknown[]>()
  readonly #secret: unknown
  #count = 0

  /** `secret` is never noted. */
  constructor(secret: unknown) {
    this.#secret = secret
  }

  /** A number that no value has had. */
  fresh(): number {
    this.#count += 1
    return this.#count
  }

  /** Notes a value under a name. */
  note(name: string, value: unknown): void {
    const known = this.#byName.get(name) ?? []
    if (value === this.#secret || known.includes(value)) return
    this.#byName.set(name, [value, ...known].slice(0, mostOfOne))
  }

  noteAnswer(path: string, body: unknown): void {
    if (Array.isArray(body)) for (const item of body) this.noteAnswer(path, item)
    else if (typeof body === 'object' && body !== null)
      for (const [name, value] of Object.entries(body as Json)) {
        if (typeof value !== 'string') this.noteAnswer(path, value)
        else if (value !== '') this.note(nameOf(path, name, value), value)
      }
  }

  /** What a field of a request to this path may refer to. */
  of(path: string, field: string): readonly unknown[] {
    const group = groupOf(path)
    const name =
      field === 'id'
        ? `${group}:id`
        : field === 'canonical_id'
          ? `${group.replace('-alias', '')}:id`
          : (sources[field] ?? `${group}:${field}`)
    return this.#byName.get(elsewhere[name] ?? name) ?? []
  }
}

/** `identity/entity` of `/identity/entity/id/{id}`. */
export const groupOf = (path: string): string => path.split('/').slice(1, 3).join('/')

/** The accessor of a mount has its type in it. */
function nameOf(path: string, name: string, value: string): string {
  if (name === 'accessor') return value.includes('_') ? 'mount_accessor' : 'accessor'
  return name === 'id' ? `${groupOf(path)}:id` : name
}
