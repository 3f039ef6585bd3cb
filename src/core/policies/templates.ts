import { parseDuration } from '../../lib/text/go-duration.ts'

type Metadata = Readonly<Record<string, string>> | null | undefined

type TemplateAlias = Described & { readonly mount_accessor: string; readonly custom_metadata?: Metadata }

/**
 * The values for the path templates of a policy: the caller's entity, its direct and inherited groups, and
 * the time in milliseconds.
 */
export type TemplateContext = {
  readonly entity?: (Described & { readonly aliases: readonly TemplateAlias[] }) | undefined
  readonly groups?: readonly Described[] | undefined
  /** The caller's groups in another namespace, for policies of that namespace. */
  groupsOf?(namespace: string): readonly Described[] | undefined
  readonly login?: Login | undefined
  readonly now: number
}

/** The login of the caller's token. */
type Login = { readonly accessor: string; readonly metadata: Readonly<Record<string, string>> }

type Described = { readonly id: string; readonly name: string; readonly metadata?: Metadata }

/** The text before the first value. */
export const beginningOf = ({ literals }: Template): string => literals[0] ?? ''

/** A path label with `{{ … }}`: literal pieces, and the names of the values between them. */
export type Template = {
  readonly literals: readonly string[]
  readonly names: readonly string[]
  /** Id of the namespace whose groups it refers to; default: the caller's. */
  readonly scope?: string
  /** Whether it contains the time, so that the filled label is valid for one second only. */
  readonly isTimed: boolean
  /** What its values may contain; default: neither. */
  readonly allows?: AllowedInValues
}

/** Characters that have a meaning in paths. */
type AllowedInValues = { readonly slashes: boolean; readonly wildcards: boolean }

/** Whether the value comes from the login of the token, and not from an entity. */
export const isOfLogin = (name: string): boolean => name.startsWith('login.')

/**
 * Parses the template of a label. Undefined if it has none, `unbalanced` if its braces do not match.
 * docs/contract/tokens-and-policies.md#paths-in-rules
 */
export function parseTemplate(label: string): Template | 'unbalanced' | undefined {
  const [first = '', ...rest] = label.split('{{')
  if (first.includes('}}')) return 'unbalanced'
  if (rest.length === 0) return undefined
  const literals = [first]
  const names: string[] = []
  for (const piece of rest) {
    const [name = '', literal, ...more] = piece.split('}}')
    if (literal === undefined || more.length > 0) return 'unbalanced'
    names.push(name.trim())
    literals.push(literal)
  }
  return {
    literals,
    names,
    isTimed: names.some((name) => name === 'time.now' || name.startsWith('time.now.')),
  }
}

/** `missing`: the caller has no such value. `unsafe`: a value would change what the path around it means. */
export type Filled = { readonly path: string } | { readonly unfilled: 'missing' | 'unsafe' }

/** Fills in the values. docs/contract/tokens-and-policies.md#paths-in-rules */
export function fillTemplate({ literals, names, scope, allows }: Template, caller: TemplateContext): Filled {
  if (caller.entity === undefined && !names.some(isOfLogin)) return { unfilled: 'missing' }
  const context = scope === undefined ? caller : { ...caller, groups: caller.groupsOf?.(scope) }
  let path = literals[0] ?? ''
  let isUnsafe = false
  for (const [index, name] of names.entries()) {
    const value = namedValue(name, context)
    if (value === undefined) return { unfilled: 'missing' }
    isUnsafe ||=
      (allows?.slashes !== true && value.includes('/')) || (allows?.wildcards !== true && /[*+]/.test(value))
    path += value + (literals[index + 1] ?? '')
  }
  return isUnsafe || path.split('/').includes('..') ? { unfilled: 'unsafe' } : { path }
}

function namedValue(name: string, { entity, groups = [], login, now }: TemplateContext): string | undefined {
  if (name.startsWith('time.now')) return timeValue(name.slice('time.now'.length), now)
  if (isOfLogin(name)) return login && loginValue(name.slice('login.'.length), login)
  if (name.startsWith('identity.entity.aliases.')) {
    const [accessor, field] = cutAtDot(name.slice('identity.entity.aliases.'.length))
    const alias = entity?.aliases.find(({ mount_accessor }) => mount_accessor === accessor)
    return (
      alias && (metadataValue(field, 'custom_metadata.', alias.custom_metadata) ?? ownValue(field, alias))
    )
  }
  if (name.startsWith('identity.entity.'))
    return entity && ownValue(name.slice('identity.entity.'.length), entity)
  if (name.startsWith('identity.groups.ids.')) {
    // the id of a namespace's group has a dot
    const rest = name.slice('identity.groups.ids.'.length)
    const group = groups.find(({ id }) => rest.startsWith(`${id}.`))
    return group && ownValue(rest.slice(group.id.length + 1), group)
  }
  if (name.startsWith('identity.groups.names.')) {
    const [groupName, field] = cutAtDot(name.slice('identity.groups.names.'.length))
    const group = groups.find((candidate) => candidate.name === groupName)
    return group && ownValue(field, group)
  }
  return undefined
}

function loginValue(field: string, { accessor, metadata }: Login): string | undefined {
  const own = field.startsWith(`${accessor}.`) ? field.slice(accessor.length + 1) : field
  return metadataValue(own, 'metadata.', metadata)
}

function ownValue(field: string, { id, name, metadata }: Described): string | undefined {
  if (field === 'id') return id === '' ? undefined : id
  if (field === 'name') return name === '' ? undefined : name
  return metadataValue(field, 'metadata.', metadata)
}

/** An empty string counts as a value. */
function metadataValue(field: string, prefix: string, metadata: Metadata): string | undefined {
  const key = field.slice(prefix.length)
  return field.startsWith(prefix) && metadata && Object.hasOwn(metadata, key) ? metadata[key] : undefined
}

function timeValue(shift: string, now: number): string | undefined {
  const seconds = Math.floor(now / 1000)
  if (shift === '') return String(seconds)
  const sign = shift.startsWith('.plus.') ? 1 : shift.startsWith('.minus.') ? -1 : undefined
  if (sign === undefined) return undefined
  const duration = parseDuration(shift.slice(sign === 1 ? '.plus.'.length : '.minus.'.length))
  return 'seconds' in duration ? String(seconds + sign * duration.seconds) : undefined
}

function cutAtDot(text: string): [string, string] {
  const dot = text.indexOf('.')
  return dot === -1 ? [text, ''] : [text.slice(0, dot), text.slice(dot + 1)]
}
