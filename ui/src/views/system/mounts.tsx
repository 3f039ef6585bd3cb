import { useQuery, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { announce } from '../../components/announce.tsx'
import { Button } from '../../components/button.tsx'
import { Failure } from '../../components/failure.tsx'
import { Field } from '../../components/field.tsx'
import { Select } from '../../components/select.tsx'
import { type Column, Table } from '../../components/table.tsx'
import { useUnsaved } from '../../components/unsaved.ts'
import { useAction } from '../../components/use-action.ts'
import { ViewHeader } from '../../components/view-header.tsx'
import { useReach } from '../../shell/acl.ts'
import { mayWrite } from '../../shell/grants.ts'
import { PlaceLink, useGo, usePlace } from '../../shell/use-place.tsx'
import { strings } from '../../strings.ts'
import { authMounts, enableAuth, enableSecrets, type Mount, secretMounts } from './calls.ts'
import { callPath, type Kind } from './kinds.ts'
import { MountPage } from './mount-page.tsx'

const text = strings.system

const types: Readonly<Record<Kind, readonly string[]>> = {
  secrets: ['kv-v2', 'kv', 'cloud', 'azure'],
  logins: ['jwt', 'oidc', 'kubernetes', 'approle', 'userpass'],
}

/** Only the mounts of login methods ask for `sudo`. */
const mayEnable: Readonly<Record<Kind, (capabilities: readonly string[]) => boolean>> = {
  secrets: mayWrite,
  logins: (capabilities) => mayWrite(capabilities) && capabilities.includes('sudo'),
}

type Row = { readonly path: string; readonly mount: Mount }

export function Mounts({ kind }: { readonly kind: Kind }) {
  const { parts } = usePlace()
  const call = kind === 'secrets' ? secretMounts : authMounts
  const { data, error } = useQuery({
    queryKey: ['mount-table', kind],
    queryFn: async ({ signal }) => (await call({}, { signal })).data,
  })
  const [, path] = parts
  const mount = path === undefined ? undefined : data?.[path]
  if (path !== undefined && mount !== undefined) return <MountPage kind={kind} path={path} mount={mount} />
  const rows = Object.entries(data ?? {})
    .map(([at, one]): Row => ({ path: at, mount: one }))
    .toSorted((a, b) => (a.path < b.path ? -1 : 1))
  return (
    <>
      <ViewHeader title={text.tabs[kind]} requests={[call.request({})]} />
      <Failure error={error} />
      <Table
        name="mounts"
        label={text.tabs[kind]}
        columns={columnsOf(kind)}
        rows={rows}
        keyOf={(row) => row.path}
      />
      <Enable kind={kind} />
    </>
  )
}

const columnsOf = (kind: Kind): readonly Column<Row>[] => [
  {
    id: 'path',
    title: text.path,
    by: ({ path }) => path,
    cell: ({ path }) => (
      <PlaceLink view="system" parts={[kind, path]} className="mono">
        {path}
      </PlaceLink>
    ),
  },
  {
    id: 'type',
    title: text.type,
    width: '8rem',
    by: ({ mount }) => typeOf(mount),
    cell: ({ mount }) => typeOf(mount),
  },
  {
    id: 'description',
    title: text.description,
    width: '2fr',
    wraps: true,
    cell: ({ mount }) => mount.description,
  },
]

const typeOf = ({ type, options }: Mount): string =>
  options?.['version'] === undefined ? type : `${type}, ${text.version.toLowerCase()} ${options['version']}`

function Enable({ kind }: { readonly kind: Kind }) {
  const client = useQueryClient()
  const go = useGo()
  const [first = ''] = types[kind]
  const [type, setType] = useState(first)
  const [path, setPath] = useState('')
  const [description, setDescription] = useState('')
  useUnsaved([path, description])
  const [error, setError] = useState<unknown>()
  const { reaches } = useReach()
  const enable = useAction(async () => {
    const call = kind === 'secrets' ? enableSecrets : enableAuth
    try {
      await call({ params: { path: path.trim() }, body: { type, description } })
      for (const key of ['mount-table', 'mounts', 'capabilities'])
        await client.invalidateQueries({ queryKey: [key] })
      announce(strings.done(text.enable[kind]))
      go({ view: 'system', parts: [kind, `${path.trim().replace(/\/$/, '')}/`] })
    } catch (refusal) {
      setError(refusal)
    }
  })
  if (!reaches(callPath(kind, ''), mayEnable[kind])) return null
  return (
    <section className="panel" aria-labelledby="enable">
      <h2 id="enable">{text.enable[kind]}</h2>
      <form className="filters" onSubmit={(event) => void enable(event)}>
        <Select
          label={text.type}
          value={type}
          onChange={setType}
          options={types[kind].map((one) => [one, one])}
        />
        <Field label={text.path} isRequired mono value={path} onChange={setPath} />
        <Field label={text.description} optional value={description} onChange={setDescription} />
        <div className="actions">
          <Button type="submit">{text.enableAction}</Button>
        </div>
      </form>
      <Failure error={error} />
    </section>
  )
}
