import { useQuery, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { dataOrNull } from '../../../api/errors.ts'
import { Failure } from '../../../components/failure.tsx'
import { Field } from '../../../components/field.tsx'
import { useCapabilities } from '../../../shell/capabilities.ts'
import { strings } from '../../../strings.ts'
import { celRoleWhatIf, readCelRole, writeCelRole } from './calls.ts'
import { ObjectEditor } from './object-editor.tsx'
import { programOf } from './program.ts'
import type { FieldSpec, Values } from './spec.ts'
import { TryProgram } from './try-program.tsx'
import { TryToken } from './try-token.tsx'

const text = strings.logins.editor

const celFields: readonly FieldSpec[] = [
  { name: 'bound_audiences', kind: 'list' },
  { name: 'cel_program', kind: 'program' },
  { name: 'message', kind: 'text' },
  { name: 'clock_skew_leeway', kind: 'number', isMore: true },
  { name: 'expiration_leeway', kind: 'number', isMore: true },
  { name: 'not_before_leeway', kind: 'number', isMore: true },
]

const example = `claims.repository == "acme/shop"
  ? pb.Auth{policies: ["deploy"], alias: logical.Alias{name: claims.repository}}
  : false`

const bodyOf = (body: Values) => ({ ...body, cel_program: { ...programOf(body['cel_program']) } })

type Props = {
  readonly mount: string
  /** Empty for a new role. */
  readonly name: string
  readonly onSaved: (name: string) => void
  readonly onCancel: () => void
}

/** The form of a CEL role, with a box that tries its program. */
export function CelEditor({ mount, name: stored, onSaved, onCancel }: Props) {
  const client = useQueryClient()
  const [typed, setTyped] = useState('')
  const name = stored || typed.trim().toLowerCase()
  const path = `auth/${mount}/cel/role/${name || 'x'}`
  const { can } = useCapabilities([path, `${path}/what-if`, `auth/${mount}/cel/try`, `auth/${mount}/explain`])
  const params = { jwt_mount_path: mount, name }
  const { data, error } = useQuery({
    queryKey: ['cel-role-edited', mount, stored],
    queryFn: ({ signal }) =>
      stored === ''
        ? null
        : dataOrNull(readCelRole({ params: { jwt_mount_path: mount, name: stored } }, { signal })),
    // what is being edited must not change
    staleTime: Number.POSITIVE_INFINITY,
    gcTime: 0,
  })
  if (error !== null) return <Failure error={error} />
  if (data === undefined) return null
  const { name: _read, ...fields } = data ?? {}
  const mayTry = can(`${path}/what-if`, 'update') && can(path, 'update') && name !== ''
  return (
    <ObjectEditor
      title={stored === '' ? strings.logins.cel.newRole : text.edit(stored)}
      path={path}
      specs={celFields}
      stored={data === null ? undefined : fields}
      changes={data === null ? { bound_audiences: ['gatehouse'], cel_program: { expression: example } } : {}}
      always="all"
      tryOut={mayTry ? (body, options) => celRoleWhatIf({ params, body: bodyOf(body) }, options) : undefined}
      write={async (body) => {
        await writeCelRole({ params, body: bodyOf(body) })
        for (const key of ['cel-roles', 'cel-role', 'login-lint', 'history'])
          await client.invalidateQueries({ queryKey: [key] })
        onSaved(name)
      }}
      onCancel={onCancel}
      beside={(body, apply) => (
        <>
          {can(`auth/${mount}/cel/try`, 'update') && (
            <TryProgram mount={mount} program={body['cel_program']} />
          )}
          {mayTry && can(`auth/${mount}/explain`, 'update') && (
            <TryToken mount={mount} role={`cel/${name}`} fields={bodyOf(body)} apply={apply} />
          )}
        </>
      )}
    >
      {stored === '' && <Field label={text.roleName} isRequired value={typed} onChange={setTyped} />}
    </ObjectEditor>
  )
}
