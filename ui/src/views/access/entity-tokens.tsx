import { useQuery, useQueryClient } from '@tanstack/react-query'
import { ifMissing } from '../../api/errors.ts'
import { Confirm } from '../../components/confirm.tsx'
import { Failure } from '../../components/failure.tsx'
import { useCapabilities } from '../../shell/capabilities.ts'
import { strings } from '../../strings.ts'
import { listTokens, revokeTokensOf } from './calls.ts'
import { rowsOf, TokenTable } from './token-table.tsx'

const text = strings.access

const mostListed = 1000
const paths = { list: 'auth/token/accessors/', lookUp: 'auth/token/lookup-accessor' } as const

/** The tokens of a person, and one button that ends them all. */
export function EntityTokens({ id, name }: { readonly id: string; readonly name: string }) {
  const client = useQueryClient()
  const [own, revoke] = [`identity/entity/id/${id}`, `identity/entity/id/${id}/revoke-tokens`]
  const { can } = useCapabilities([paths.list, paths.lookUp, own, revoke])
  const mayList = can(paths.list, 'list') && can(paths.list, 'sudo') && can(paths.lookUp, 'update')
  const mayRevoke = can(revoke, 'update') && can(revoke, 'sudo') && can(own, 'update')
  const { data, error } = useQuery({
    queryKey: ['tokens', id],
    queryFn: async ({ signal }) => {
      const query = { detailed: 'true', entity_id: id, limit: String(mostListed) }
      return rowsOf((await ifMissing(listTokens({ query }, { signal }), { data: { keys: [] } })).data)
    },
    enabled: mayList,
  })
  if (!mayList && !mayRevoke) return null
  const isMore = data?.length === mostListed
  return (
    <section className="panel" aria-labelledby="tokens">
      <h2 id="tokens">{text.tabs.tokens}</h2>
      <Failure error={error ?? undefined} />
      {data?.length === 0 && <p className="hint">{text.noTokens}</p>}
      {data !== undefined && data.length > 0 && <TokenTable rows={data} />}
      {isMore && <p className="hint">{text.shownTokens(mostListed, mostListed, true)}</p>}
      {mayRevoke && (!mayList || data !== undefined) && (
        <div className="actions">
          <Confirm
            label={text.revokeAll}
            question={text.revokeAllQuestion(name)}
            action={text.revokeAll}
            onConfirmed={async () => {
              await revokeTokensOf({ params: { id } })
              await client.invalidateQueries({ queryKey: ['tokens'] })
            }}
          >
            <p>{text.revokeAllHint(data?.length, isMore)}</p>
          </Confirm>
        </div>
      )}
    </section>
  )
}
