import { useQuery, useQueryClient } from '@tanstack/react-query'
import { dataOrNull } from '../../api/errors.ts'
import { Button } from '../../components/button.tsx'
import { Confirm } from '../../components/confirm.tsx'
import { Failure } from '../../components/failure.tsx'
import { Time } from '../../components/time.tsx'
import { ViewHeader } from '../../components/view-header.tsx'
import { useNamespace } from '../../session/namespace.ts'
import { useCapabilities } from '../../shell/capabilities.ts'
import { ViewLoading } from '../../shell/outcomes.tsx'
import { useGo, usePlace } from '../../shell/use-place.tsx'
import { strings } from '../../strings.ts'
import { deleteCurrent, deleteSecret, type Metadata, readMetadata, readSecret } from './calls.ts'
import { readCommands } from './commands.ts'
import { ConflictPanel } from './conflict-panel.tsx'
import { Difference } from './difference.tsx'
import { Editor } from './editor.tsx'
import { MetadataPanel } from './metadata-panel.tsx'
import { folderOf, type SecretMount, withoutSlash } from './paths.ts'
import { endpointPath, endpoints, type SecretPlace, useSecret } from './place.ts'
import { Trail } from './trail.tsx'
import { type Draft, useWriting } from './use-writing.ts'
import { ValueList } from './values.tsx'
import { stateOf, Versions } from './versions.tsx'

const text = strings.secrets

type Props = { readonly mount: SecretMount; readonly path: string }

/** One secret with its versions. */
export function SecretPage({ mount, path }: Props) {
  const client = useQueryClient()
  const own = { mount: mount.path, path }
  const { can, isKnown } = useCapabilities(endpoints.map((endpoint) => endpointPath(own, endpoint)))
  const params = { 'kv-v2_mount_path': withoutSlash(mount.path), path }
  const place: SecretPlace = {
    ...own,
    params,
    can,
    changed: async () => {
      await client.invalidateQueries({ queryKey: ['secret', mount.path, path] })
      await client.invalidateQueries({ queryKey: ['secret-names', mount.path] })
    },
  }
  const metadata = useMetadata(place)
  if (!isKnown || metadata.isPending) return <ViewLoading />
  return <Loaded place={place} metadata={metadata.data} error={metadata.error} />
}

/** Null: it cannot be read, or there is no such secret. */
function useMetadata(place: SecretPlace) {
  const mayRead = place.can(endpointPath(place, 'metadata'), 'read')
  return useQuery({
    queryKey: ['secret', place.mount, place.path, 'metadata', mayRead],
    queryFn: async ({ signal }): Promise<Metadata | null> => {
      if (!mayRead) return null
      return dataOrNull(readMetadata({ params: place.params }, { signal }))
    },
  })
}

type LoadedProps = {
  readonly place: SecretPlace
  readonly metadata: Metadata | null | undefined
  readonly error: unknown
}

function Loaded({ place, metadata, error }: LoadedProps) {
  const { search } = usePlace()
  const version = Number(search['version'] ?? 0) || undefined
  const other = Number(search['compare'] ?? 0) || undefined
  const { can, params } = place
  const namespace = useNamespace()
  const name = place.path.slice(folderOf(place.path).length)
  const query = version === undefined ? undefined : { version: String(version) }
  return (
    <div className="view">
      <Trail mount={place.mount} path={place.path} />
      <ViewHeader
        title={name}
        commands={readCommands({
          ...place,
          version,
          namespace,
          request: readSecret.request({ params, query }),
        })}
        requests={[readMetadata.request({ params })]}
      >
        <DeleteAll place={place} metadata={metadata ?? undefined} />
      </ViewHeader>
      <Failure error={error} />
      <Data place={place} metadata={metadata ?? undefined} version={version} />
      {metadata != null && (
        <>
          {other !== undefined && can(endpointPath(place, 'data'), 'read') && (
            <Difference place={place} from={other} to={version ?? metadata.current_version} />
          )}
          <Versions place={place} metadata={metadata} shown={version} />
          <MetadataPanel place={place} metadata={metadata} />
        </>
      )}
    </div>
  )
}

type DataProps = {
  readonly place: SecretPlace
  readonly metadata: Metadata | undefined
  readonly version: number | undefined
}

/** One version's fields, which can be edited into a new version. */
function Data({ place, metadata, version }: DataProps) {
  const { draft, conflict, putAside, edit, editAgain, save, takeTheirs } = useWriting(place)
  const { data, error, isPending } = useSecret(place, version)
  if (isPending) return <ViewLoading />
  const may = (capability: string) => place.can(endpointPath(place, 'data'), capability)
  const current = currentVersion(place, metadata, data)
  const shown = version ?? current
  const state = metadata?.versions[String(shown)]
  const mayWrite = may('update') || (!current && may('create'))
  const begun: Draft = { values: data?.data ?? {}, cas: current }
  const edited = draft ?? (!current && mayWrite && error === null ? begun : undefined)
  const isThere = data?.data != null
  const isVersionThere = isThere || (state !== undefined && stateOf(state) === 'there')
  const canBeDeleted = isVersionThere && shown === current && may('delete')
  return (
    <section className="panel" aria-labelledby="values">
      <div className="panel-head">
        <h2 id="values">{titleOf(current, shown)}</h2>
        {isThere && <Time at={data.metadata.created_time} />}
      </div>
      {isThere && data.metadata.deletion_time !== '' && (
        <p className="note">
          {text.expires} <Time at={data.metadata.deletion_time} />
        </p>
      )}
      <Failure error={error} />
      {!isThere && error === null && (
        <p>
          {current === 0
            ? text.notThere
            : may('read')
              ? text.states[state === undefined ? 'gone' : stateOf(state)]
              : text.mayNotRead}
        </p>
      )}
      {current === undefined && mayWrite && <p>{text.replacesUnseen}</p>}
      {conflict !== undefined ? (
        <ConflictPanel
          conflict={conflict}
          onSave={(values) => save(values, { ...conflict, values: conflict.base, cas: conflict.version })}
          onEdit={editAgain}
          onTakeTheirs={takeTheirs}
        />
      ) : edited !== undefined ? (
        <Editor
          before={edited.values}
          generate={edited.generate ?? {}}
          submit={submitText(edited)}
          onSave={(values, generate) => save(values, { ...edited, generate })}
          onCancel={!current ? undefined : () => edit(undefined)}
        />
      ) : (
        <>
          {isThere && <ValueList values={data.data ?? {}} />}
          {putAside !== undefined && (
            <p className="note">
              {text.conflict.putAside}{' '}
              <Button onPress={() => edit({ values: putAside, cas: current })}>
                {text.conflict.editPutAside}
              </Button>
            </p>
          )}
          <div className="actions">
            {current !== undefined && current > 0 && mayWrite && (
              <Button kind="primary" onPress={() => edit(begun)}>
                {isThere ? text.edit : text.writeAnew}
              </Button>
            )}
            {canBeDeleted && shown !== undefined && (
              <Confirm
                label={text.deleteVersion}
                question={text.deleteVersionQuestion(shown, place.path)}
                action={text.deleteVersion}
                onConfirmed={async () => {
                  await deleteCurrent({ params: place.params })
                  await place.changed()
                }}
              >
                <p>{text.deleteVersionHint}</p>
              </Confirm>
            )}
          </div>
        </>
      )}
    </section>
  )
}

const submitText = ({ cas }: Draft): string =>
  cas === undefined ? text.save : cas === 0 ? text.create : text.saveAs(cas + 1)

/** 0: there is no secret. Undefined: the token may not know. */
function currentVersion(
  place: SecretPlace,
  metadata: Metadata | undefined,
  data: Awaited<ReturnType<typeof readSecret>>['data'] | null | undefined,
): number | undefined {
  const isKnown = (['data', 'metadata'] as const).some((one) => place.can(endpointPath(place, one), 'read'))
  return isKnown ? (metadata?.current_version ?? data?.metadata.version ?? 0) : undefined
}

const titleOf = (current: number | undefined, shown: number | undefined): string =>
  current === 0
    ? text.newSecret
    : shown === undefined
      ? text.values
      : text.versionTitle(shown, shown === current)

type DeleteAllProps = { readonly place: SecretPlace; readonly metadata: Metadata | undefined }

function DeleteAll({ place, metadata }: DeleteAllProps) {
  const go = useGo()
  if (metadata === undefined || !place.can(endpointPath(place, 'metadata'), 'delete')) return null
  return (
    <Confirm
      label={text.deleteAll}
      question={text.deleteAllQuestion(place.path)}
      action={text.deleteAll}
      onConfirmed={async () => {
        await deleteSecret({ params: place.params })
        await place.changed()
        go({ view: 'secrets', parts: [place.mount, folderOf(place.path)] }, { replace: true })
      }}
    >
      <p>{text.deleteAllHint(Object.keys(metadata.versions).length)}</p>
    </Confirm>
  )
}
