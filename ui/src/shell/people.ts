import { useQuery } from '@tanstack/react-query'
import { ifMissing, keysOf } from '../api/errors.ts'
import { listEntities, listGroups, listPolicies, readPerson } from '../api/people.ts'
import type { Choice } from '../components/picker.tsx'
import { useReach } from './acl.ts'
import { useCapabilities } from './capabilities.ts'

/** An entity, and the names by which it logs in. */
export type Person = { readonly id: string; readonly name: string; readonly aliases: readonly string[] }

/** A list of entities has at most so many; the others are found by their ids. */
const mostListed = 5000

const paths = {
  entities: 'identity/entity/id',
  groups: 'identity/group/id',
  policies: 'sys/policies/acl',
} as const

const none = { data: { keys: [], key_info: {} } }

/** The first entities; undefined if the token may not list them, or until they are known. */
export function usePeople() {
  const { can, isKnown } = useCapabilities([paths.entities])
  const mayList = can(paths.entities, 'list')
  const { data, error } = useQuery({
    queryKey: ['entities'],
    queryFn: async ({ signal }): Promise<readonly Person[]> => {
      const listing = listEntities({ query: { limit: String(mostListed) } }, { signal })
      const { keys, key_info } = (await ifMissing(listing, none)).data
      const infos: Readonly<Record<string, { name: string; aliases?: readonly { name: string }[] }>> =
        key_info
      return keys.map((id) => ({
        id,
        name: infos[id]?.name ?? id,
        aliases: (infos[id]?.aliases ?? []).map(({ name }) => name),
      }))
    },
    enabled: mayList,
    staleTime: 30_000,
  })
  return {
    people: data,
    error,
    isPartial: data?.length === mostListed,
    isRefused: (isKnown && !mayList) || error !== null,
  }
}

/** The person with this id, read alone only if the list of the first ones does not have it. */
export function usePerson(id: string): Person | undefined {
  const { people, isRefused } = usePeople()
  const { reaches, isKnown } = useReach()
  const listed = people?.find((person) => person.id === id)
  const isSought = id !== '' && listed === undefined && (people !== undefined || isRefused)
  const mayRead = isKnown && reaches(`${paths.entities}/`, (may) => may.includes('read'))
  const { data } = useQuery({
    queryKey: ['person', id],
    queryFn: async ({ signal }): Promise<Person> => {
      const { name, aliases } = (await readPerson({ params: { id } }, { signal })).data
      return { id, name, aliases: aliases.map((alias) => alias.name) }
    },
    enabled: isSought && mayRead,
    retry: false,
    staleTime: 60_000,
  })
  return listed ?? data
}

/** A name that the first login made up says nothing: then an alias names the person. */
export const labelOf = ({ name, aliases }: Person): string =>
  /^entity_[0-9a-f]{8}$/.test(name) ? (aliases[0] ?? name) : name

/** The other names of a person. */
export const otherNames = (person: Person): readonly string[] => [
  ...new Set(person.aliases.filter((alias) => alias !== labelOf(person))),
]

/** The choices of pickers of people; undefined if the token may not list all of them. */
export function usePeopleChoices(): readonly Choice[] | undefined {
  const { people, isPartial, isRefused } = usePeople()
  if (isRefused || isPartial) return undefined
  return (
    people?.map((person) => ({
      id: person.id,
      label: labelOf(person),
      detail: otherNames(person).join(', ') || undefined,
    })) ?? []
  )
}

/** All groups; undefined if the token may not list them, or until they are known. */
export function useGroups() {
  const { can, isKnown } = useCapabilities([paths.groups])
  const mayList = can(paths.groups, 'list')
  const { data, error } = useQuery({
    queryKey: ['groups'],
    queryFn: async ({ signal }): Promise<readonly Person[]> => {
      const { keys, key_info } = (await ifMissing(listGroups({}, { signal }), none)).data
      const infos: Readonly<Record<string, { name: string }>> = key_info
      return keys.map((id) => ({ id, name: infos[id]?.name ?? id, aliases: [] }))
    },
    enabled: mayList,
    staleTime: 30_000,
  })
  return { groups: data, error, isRefused: (isKnown && !mayList) || error !== null }
}

export function useGroupChoices(): readonly Choice[] | undefined {
  const { groups, isRefused } = useGroups()
  return isRefused ? undefined : (groups ?? []).map(({ id, name }) => ({ id, label: name }))
}

export function usePolicyChoices(): readonly Choice[] | undefined {
  const { can } = useCapabilities([paths.policies])
  const { data } = useQuery({
    queryKey: ['policies'],
    queryFn: ({ signal }) => keysOf(listPolicies({}, { signal })),
    enabled: can(paths.policies, 'list'),
    staleTime: 30_000,
  })
  return data?.filter((name) => name !== 'root').map((name) => ({ id: name, label: name }))
}
