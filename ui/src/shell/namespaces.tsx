import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { Button as AriaButton } from 'react-aria-components/Button'
import { Dialog, DialogTrigger } from 'react-aria-components/Dialog'
import { dataOrNull } from '../api/errors.ts'
import { namespacesBelow, shownNamespaces } from '../api/server.ts'
import { Failure } from '../components/failure.tsx'
import { Field } from '../components/field.tsx'
import { PagePopover } from '../components/page-popover.tsx'
import { addressOfNamespace, useNamespace } from '../session/namespace.ts'
import { useSelf } from '../session/use-self.ts'
import { strings } from '../strings.ts'
import { useCapabilities } from './capabilities.ts'
import { usePlace } from './use-place.tsx'
import './namespaces.css'

const text = strings.namespaces

/** More than these nobody reads: another letter narrows them. */
const mostShown = 50

/** The namespaces that the token reaches from here: all below where it may search them, else those one level below. */
export function useNamespacesBelow() {
  const path = 'sys/namespaces'
  const { can, isKnown } = useCapabilities([path])
  const maySearch = can(path, 'scan')
  const { data, error } = useQuery({
    queryKey: ['namespaces', 'reached', maySearch],
    queryFn: async ({ signal }): Promise<readonly string[]> => {
      const listed = maySearch
        ? await dataOrNull(namespacesBelow({ query: { scan: 'true' } }, { signal }))
        : (await shownNamespaces({}, { signal })).data
      return listed?.keys.map((key) => key.replace(/\/$/, '')) ?? []
    },
    enabled: isKnown,
    staleTime: 60_000,
  })
  return { data, error, areAll: maySearch }
}

/** The present namespace, and the way to others. A server without namespaces shows nothing. */
export function NamespaceSwitcher() {
  const here = useNamespace()
  const { data, error } = useNamespacesBelow()
  if (here === '' && (data ?? []).length === 0) return null
  return (
    <DialogTrigger>
      <AriaButton className="namespace" aria-label={text.present(here)}>
        {here === '' ? text.root : `${here}/`}
      </AriaButton>
      <PagePopover placement="bottom start">
        <Dialog className="namespaces" aria-label={text.title}>
          <Choices here={here} below={data ?? []} error={error} />
        </Dialog>
      </PagePopover>
    </DialogTrigger>
  )
}

type ChoicesProps = { readonly here: string; readonly below: readonly string[]; readonly error: unknown }

function Choices({ here, below, error }: ChoicesProps) {
  const { view } = usePlace()
  const home = useSelf()?.namespace_path?.replace(/\/$/, '') ?? ''
  const [filter, setFilter] = useState('')
  const found = below.filter((path) => path.toLowerCase().includes(filter.trim().toLowerCase()))
  const link = (path: string, says: string) => (
    <a href={addressOfNamespace(path, view)} className="mono">
      {says}
    </a>
  )
  return (
    <>
      <Field label={text.search} value={filter} onChange={setFilter} autoFocus />
      <Failure error={error ?? undefined} />
      {here !== home && here !== '' && (
        <p>
          <a href={addressOfNamespace(here.split('/').slice(0, -1).join('/'), view)}>{text.up}</a>
        </p>
      )}
      {found.length > 0 ? (
        <ul aria-label={text.below}>
          {found.slice(0, mostShown).map((path) => (
            <li key={path}>{link(here === '' ? path : `${here}/${path}`, `${path}/`)}</li>
          ))}
        </ul>
      ) : (
        <p className="hint">{below.length === 0 ? text.none : text.noMatch}</p>
      )}
      {found.length > mostShown && <p className="hint">{strings.picker.more(found.length - mostShown)}</p>}
    </>
  )
}
