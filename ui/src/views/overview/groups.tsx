import { useQuery } from '@tanstack/react-query'
import { entityGroups, groupName } from '../../api/people.ts'
import { useCapabilities } from '../../shell/capabilities.ts'
import { strings } from '../../strings.ts'

const text = strings.home

const groupPath = (id: string): string => `identity/group/id/${id}`

/** The groups of an entity; by their names where the token may read them. */
export function Groups({ entity }: { readonly entity: string }) {
  const path = `identity/entity/id/${entity}`
  const { can } = useCapabilities([path])
  const { data } = useQuery({
    queryKey: ['entity-groups', entity],
    queryFn: async ({ signal }) =>
      (await entityGroups({ params: { id: entity } }, { signal })).data.group_ids,
    enabled: can(path, 'read'),
  })
  const groups = useCapabilities((data ?? []).map(groupPath))
  if (data === undefined || data.length === 0 || !groups.isKnown) return null
  return (
    <>
      <dt>{text.groups}</dt>
      <dd>
        <ul className="tags">
          {data.map((id) => (
            <li key={id}>{groups.can(groupPath(id), 'read') ? <Name id={id} /> : id}</li>
          ))}
        </ul>
      </dd>
    </>
  )
}

function Name({ id }: { readonly id: string }) {
  const { data } = useQuery({
    queryKey: ['group-name', id],
    queryFn: async ({ signal }) => (await groupName({ params: { id } }, { signal })).data.name,
  })
  return data ?? id
}
