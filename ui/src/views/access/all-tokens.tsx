import { useInfiniteQuery } from '@tanstack/react-query'
import { ifMissing } from '../../api/errors.ts'
import { Button } from '../../components/button.tsx'
import { Failure } from '../../components/failure.tsx'
import { Field } from '../../components/field.tsx'
import { usePeople } from '../../shell/people.ts'
import { useParameter } from '../../shell/use-place.tsx'
import { strings } from '../../strings.ts'
import { listTokens } from './calls.ts'
import { rowsOf, type TokenRow, TokenTable } from './token-table.tsx'

const text = strings.access

/** One call of this size shows all tokens of most servers; further ones are asked for. */
const pageSize = 1000

/** Every token, a page at a time, with a filter over the pages that are here. */
export function AllTokens() {
  const { people } = usePeople()
  const [filter, setFilter] = useParameter('filter')
  const { data, error, hasNextPage, isFetchingNextPage, fetchNextPage } = useInfiniteQuery({
    queryKey: ['tokens'],
    initialPageParam: '',
    queryFn: async ({ pageParam, signal }): Promise<readonly TokenRow[]> => {
      const query = { detailed: 'true', limit: String(pageSize), after: pageParam }
      const none = { data: { keys: [] } }
      return rowsOf((await ifMissing(listTokens({ query }, { signal }), none)).data)
    },
    getNextPageParam: (page) => (page.length === pageSize ? page.at(-1)?.accessor : undefined),
  })
  const rows = data?.pages.flat()
  const namesOf = (id: string) => {
    const person = id === '' ? undefined : people?.find((one) => one.id === id)
    return person === undefined ? [] : [person.name, ...person.aliases]
  }
  const shown = (rows ?? []).filter(({ display_name, path, policies, entity_id, accessor }) =>
    [display_name, path, accessor, entity_id, ...policies, ...namesOf(entity_id)].some((one) =>
      one.toLowerCase().includes(filter.trim().toLowerCase()),
    ),
  )
  return (
    <section className="panel" aria-labelledby="all-tokens">
      <h2 id="all-tokens">{text.allTokens}</h2>
      <Failure error={error ?? undefined} />
      {rows !== undefined && (
        <>
          <search>
            <Field
              label={text.filterTokens}
              hint={text.shownTokens(shown.length, rows.length, hasNextPage)}
              value={filter}
              onChange={setFilter}
            />
          </search>
          <TokenTable rows={shown} />
          {hasNextPage && (
            <div className="actions">
              <Button isDisabled={isFetchingNextPage} onPress={() => void fetchNextPage()}>
                {text.moreTokens}
              </Button>
            </div>
          )}
        </>
      )}
    </section>
  )
}
