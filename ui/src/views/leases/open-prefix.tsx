import { useState } from 'react'
import { listLeases } from '../../api/leases.ts'
import { Button } from '../../components/button.tsx'
import { Field } from '../../components/field.tsx'
import { List } from '../../components/list.tsx'
import { ViewHeader } from '../../components/view-header.tsx'
import { useAcl } from '../../shell/acl.ts'
import { useCapabilities } from '../../shell/capabilities.ts'
import { type Grant, grantsOf } from '../../shell/grants.ts'
import { useMounts } from '../../shell/mounts.ts'
import { PlaceLink, useGo } from '../../shell/use-place.tsx'
import { strings } from '../../strings.ts'

const text = strings.leases

export const lookup = 'sys/leases/lookup/'

/** For a token that may not list all leases: a prefix that it types, or one of those that it may list. */
export function OpenPrefix() {
  const go = useGo()
  const [typed, setTyped] = useState('')
  const { data } = useAcl()
  const prefix = typed.trim().replace(/\/*$/, '/')
  const mounts = useListable()
  const named = data === undefined ? [] : namedPrefixes(grantsOf(data))
  const offered = [...new Set([...named, ...mounts])].toSorted()
  return (
    <>
      <ViewHeader
        title={strings.views['leases'] ?? ''}
        requests={[listLeases.request({ params: { path: prefix } })]}
      />
      <form
        className="one-line"
        onSubmit={(event) => {
          event.preventDefault()
          if (prefix !== '/') go({ view: 'leases', parts: [prefix] })
        }}
      >
        <Field label={text.prefix} hint={text.prefixHint} value={typed} onChange={setTyped} mono />
        <Button type="submit">{text.open}</Button>
      </form>
      {offered.length > 0 && (
        <List name="lease-prefixes" label={text.prefixes} rows={offered} keyOf={(name) => name}>
          {(name) => (
            <PlaceLink view="leases" parts={[name]} className="mono">
              {name}
            </PlaceLink>
          )}
        </List>
      )}
    </>
  )
}

/** The prefixes that a token's policies name. */
const namedPrefixes = (grants: readonly Grant[]): readonly string[] =>
  grants
    .filter(
      ({ path, capabilities }) =>
        path.startsWith(lookup) &&
        /^[^+]+\/$/.test(path.slice(lookup.length)) &&
        capabilities.includes('list') &&
        capabilities.includes('sudo'),
    )
    .map(({ path }) => path.slice(lookup.length))

/** Types of mounts that lease nothing. */
const leaseless: ReadonlySet<string> = new Set(['kv', 'system', 'identity', 'cubbyhole'])

/** The mounts whose leases the token may list: a rule for every path names none. */
function useListable(): readonly string[] {
  const { mounts } = useMounts()
  const leasing = Object.entries(mounts.secret).filter(([, { type }]) => !leaseless.has(type))
  const paths = ['auth/', ...leasing.map(([path]) => path)]
  const { can } = useCapabilities(paths.map((path) => `${lookup}${path}`))
  return paths.filter((path) => can(`${lookup}${path}`, 'list') && can(`${lookup}${path}`, 'sudo'))
}
