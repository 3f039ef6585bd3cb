import { useQuery, useQueryClient } from '@tanstack/react-query'
import { type ReactNode, useState } from 'react'
import { dataOrNull } from '../../../api/errors.ts'
import { loginConfig, writeLoginConfig } from '../../../api/logins.ts'
import { Failure } from '../../../components/failure.tsx'
import { Select } from '../../../components/select.tsx'
import { useCapabilities } from '../../../shell/capabilities.ts'
import { strings } from '../../../strings.ts'
import { configWhatIf, podConfigWhatIf, writePodConfig } from './calls.ts'
import { configFields } from './config-fields.ts'
import { ObjectEditor } from './object-editor.tsx'
import { podConfigFields } from './pod-fields.ts'
import { presets } from './presets.ts'
import type { FieldSpec, Values } from './spec.ts'
import type { TryOut } from './use-what-if.ts'

const text = strings.logins.editor

type Props = {
  readonly mount: string
  /** A change to begin with. */
  readonly proposal?: Values
  readonly onDone: () => void
}

/** Fields that a read shows and a write does not take. */
const ofReads: ReadonlySet<string> = new Set(['status', 'token_reviewer_jwt_set'])

/** Values of a write that leaves the fields out. */
const jwtDefaults: Values = { namespace_in_state: true, token_max_lifetime: 86_400 }
const podDefaults: Values = { disable_iss_validation: true, token_max_lifetime: 86_400 }

/** The form of the configuration of a mount of type `jwt` or `oidc`. */
export function ConfigEditor({ mount, proposal = {}, onDone }: Props) {
  const [preset, setPreset] = useState('')
  const known = presets(mount)
  const params = { jwt_mount_path: mount }
  return (
    <Stored mount={mount}>
      {(stored) => (
        <Form
          key={preset}
          mount={mount}
          onDone={onDone}
          stored={stored}
          changes={{ ...(stored === undefined && jwtDefaults), ...known[preset]?.config, ...proposal }}
          specs={needing('oidc_client_secret', hasSecret(stored), configFields)}
          tryOut={(body, options) => configWhatIf({ params, body: { ...body } }, options)}
          missingOf={(body) => missingSecret(stored, body)}
          write={(body) => writeLoginConfig({ params, body: { ...body } })}
          preset={
            <Select
              label={text.preset}
              value={preset}
              onChange={setPreset}
              options={[
                ['', text.noPreset],
                ...Object.entries(known).map(([id, { label }]) => [id, label] as const),
              ]}
            />
          }
        />
      )}
    </Stored>
  )
}

/** The form of the configuration of a mount of type `kubernetes`. */
export function PodConfigEditor({ mount, proposal = {}, onDone }: Props) {
  const params = { kubernetes_mount_path: mount }
  return (
    <Stored mount={mount}>
      {(stored) => (
        <Form
          mount={mount}
          onDone={onDone}
          stored={stored}
          changes={{ ...(stored === undefined && podDefaults), ...proposal }}
          specs={needing('token_reviewer_jwt', stored?.['token_reviewer_jwt_set'] === true, podConfigFields)}
          tryOut={(body, options) => podConfigWhatIf({ params, body: { ...body } }, options)}
          write={(body) => writePodConfig({ params, body: { ...body } })}
        />
      )}
    </Stored>
  )
}

/** The member of `provider_config` that nobody can read, for each directory. */
const directorySecrets: Readonly<Record<string, string>> = {
  okta: 'api_token',
  gsuite: 'gsuite_service_account',
}

function missingSecret(stored: Values | undefined, body: Values): string | undefined {
  const [before, now] = [stored?.['provider_config'], body['provider_config']].map(
    (one): Values => Object(one),
  )
  const secret = directorySecrets[String(before?.['provider'])]
  const isKept = now?.['provider'] === before?.['provider']
  return secret === undefined || !isKept || secret in Object(now) ? undefined : secret
}

/** Whether there is a secret of the client, which a write would lose. */
const hasSecret = (stored: Values | undefined): boolean =>
  (stored?.['oidc_client_id'] ?? '') !== '' && stored?.['oidc_public_client'] !== true

const needing = (wanted: string, isRequired: boolean, specs: readonly FieldSpec[]): readonly FieldSpec[] =>
  specs.map((spec) => (spec.name === wanted ? { ...spec, isRequired } : spec))

function Stored({
  mount,
  children,
}: {
  readonly mount: string
  readonly children: (stored: Values | undefined) => ReactNode
}) {
  const { data, error } = useQuery({
    queryKey: ['login-config-edited', mount],
    queryFn: ({ signal }) => dataOrNull(loginConfig({ params: { jwt_mount_path: mount } }, { signal })),
    // what is being edited must not change
    staleTime: Number.POSITIVE_INFINITY,
    gcTime: 0,
  })
  if (error !== null) return <Failure error={error} />
  return data === undefined ? null : children(data ?? undefined)
}

type FormProps = Props & {
  readonly stored: Values | undefined
  readonly changes: Values
  readonly specs: readonly FieldSpec[]
  readonly tryOut: TryOut
  readonly missingOf?: (body: Values) => string | undefined
  readonly write: (body: Values) => Promise<unknown>
  readonly preset?: ReactNode
}

function Form({ mount, onDone, stored, changes, specs, tryOut, missingOf, write, preset }: FormProps) {
  const client = useQueryClient()
  const path = `auth/${mount}/config`
  const { can } = useCapabilities([path, `${path}/what-if`])
  const mayTry = can(path, 'update') && can(`${path}/what-if`, 'update')
  return (
    <ObjectEditor
      title={text.editConfig}
      path={path}
      specs={specs}
      stored={stored && withoutReads(stored)}
      changes={changes}
      always="all"
      tryOut={mayTry ? tryOut : undefined}
      isCostly
      {...(missingOf !== undefined && { missingOf })}
      write={async (body) => {
        await write(body)
        for (const key of [
          'login-config',
          'login-config-or-none',
          'login-lint',
          'login-status',
          'pod-status',
          'history',
        ])
          await client.invalidateQueries({ queryKey: [key] })
        onDone()
      }}
      onCancel={onDone}
    >
      {preset}
    </ObjectEditor>
  )
}

const withoutReads = (stored: Values): Values =>
  Object.fromEntries(Object.entries(stored).filter(([name]) => !ofReads.has(name)))
