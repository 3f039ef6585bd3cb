import { useQuery, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { dataOrNull } from '../../api/errors.ts'
import { announce } from '../../components/announce.tsx'
import { Button } from '../../components/button.tsx'
import { Confirm } from '../../components/confirm.tsx'
import { Failure } from '../../components/failure.tsx'
import { ViewHeader } from '../../components/view-header.tsx'
import { useNamespace } from '../../session/namespace.ts'
import { useCapabilities } from '../../shell/capabilities.ts'
import { ViewLoading } from '../../shell/outcomes.tsx'
import { useGo } from '../../shell/use-place.tsx'
import { strings } from '../../strings.ts'
import { deleteFirst, readFirst, type Values, writeFirst } from './calls.ts'
import { readCommands } from './commands.ts'
import { type Conflict, firstConflict } from './conflict.ts'
import { ConflictPanel } from './conflict-panel.tsx'
import { Editor } from './editor.tsx'
import { folderOf, type SecretMount, withoutSlash } from './paths.ts'
import { Trail } from './trail.tsx'
import { ValueList } from './values.tsx'

const text = strings.secrets

type Props = { readonly mount: SecretMount; readonly path: string }

/** Values that are being edited. */
type Draft = {
  readonly values: Values
  /** The secret when the draft began; null if there was none. */
  readonly base: Values | null
}

/** One secret of a mount of version 1, which keeps a single value. */
export function FirstSecret({ mount, path }: Props) {
  const client = useQueryClient()
  const go = useGo()
  const namespace = useNamespace()
  const [draft, setDraft] = useState<Draft>()
  const [conflict, setConflict] = useState<Conflict>()
  const own = `${mount.path}${path}`
  const { can, isKnown } = useCapabilities([own])
  const params = { kv_mount_path: withoutSlash(mount.path), path }
  const mayRead = can(own, 'read')
  const { data, error } = useQuery({
    queryKey: ['secret', mount.path, path, mayRead],
    gcTime: 0,
    enabled: isKnown,
    queryFn: async ({ signal }): Promise<Values | null> => {
      if (!mayRead) return null
      return dataOrNull(readFirst({ params }, { signal }))
    },
  })
  const changed = async () => {
    await client.invalidateQueries({ queryKey: ['secret', mount.path, path] })
    await client.invalidateQueries({ queryKey: ['secret-names', mount.path] })
  }
  if (data === undefined && error === null) return <ViewLoading />
  const edit = (begun: Draft | undefined) => {
    setDraft(begun)
    setConflict(undefined)
  }
  const write = async (values: Values) => {
    await writeFirst({ params, body: values })
    announce(strings.saved)
    // the next edit begins with what is stored now
    await changed()
    edit(undefined)
  }
  /** The server does not compare: a value that has changed since it was opened is only found by another read. */
  const save = async (values: Values, base: Values | null) => {
    const now = mayRead ? await dataOrNull(readFirst({ params })) : null
    const found = base === null && now === null ? undefined : firstConflict(base ?? {}, values, now)
    if (!mayRead || found === undefined) return write(values)
    setConflict(found)
  }
  const isThere = data != null
  const mayWrite = can(own, 'update') || (!isThere && can(own, 'create'))
  const edited = draft ?? (!isThere && mayWrite && error === null ? { values: {}, base: null } : undefined)
  return (
    <div className="view">
      <Trail mount={mount.path} path={path} />
      <ViewHeader
        title={path.slice(folderOf(path).length)}
        commands={readCommands({
          mount: mount.path,
          engine: 1,
          path,
          namespace,
          request: readFirst.request({ params }),
        })}
      >
        {isThere && can(own, 'delete') && (
          <Confirm
            label={text.deleteAll}
            question={text.deleteAllQuestion(path)}
            action={text.deleteAll}
            onConfirmed={async () => {
              await deleteFirst({ params })
              await changed()
              go({ view: 'secrets', parts: [mount.path, folderOf(path)] }, { replace: true })
            }}
          >
            <p>{text.deleteFirstHint}</p>
          </Confirm>
        )}
      </ViewHeader>
      <section className="panel" aria-labelledby="values">
        <h2 id="values">{isThere || !mayRead ? text.values : text.newSecret}</h2>
        <Failure error={error} />
        {!isThere && error === null && <p>{mayRead ? text.notThere : text.mayNotRead}</p>}
        {!mayRead && mayWrite && <p>{text.replacesUnseen}</p>}
        {conflict !== undefined ? (
          <ConflictPanel
            conflict={conflict}
            onSave={(values) => save(values, conflict.version === 0 ? null : (conflict.theirs ?? {}))}
            onEdit={(values) =>
              edit({ values, base: conflict.version === 0 ? null : (conflict.theirs ?? {}) })
            }
            onTakeTheirs={() => {
              edit(undefined)
              void changed()
            }}
          />
        ) : edited !== undefined ? (
          <>
            <Editor
              before={edited.values}
              submit={isThere || !mayRead ? text.save : text.create}
              onSave={(values) => save(values, edited.base)}
              onCancel={isThere ? () => edit(undefined) : undefined}
            />
            <p className="hint">{text.firstHint}</p>
          </>
        ) : (
          isThere && (
            <>
              <ValueList values={data} />
              {mayWrite && (
                <div className="actions">
                  <Button kind="primary" onPress={() => edit({ values: data, base: data })}>
                    {text.edit}
                  </Button>
                </div>
              )}
            </>
          )
        )}
      </section>
    </div>
  )
}
