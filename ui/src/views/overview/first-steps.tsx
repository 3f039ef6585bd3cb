import { useQuery, useQueryClient } from '@tanstack/react-query'
import { type ReactNode, useState } from 'react'
import { serverNow } from '../../api/clock.ts'
import { ifMissing, keysOf } from '../../api/errors.ts'
import { loginRoles } from '../../api/logins.ts'
import { createMessage, listMessages } from '../../api/message-admin.ts'
import { base64OfText } from '../../api/messages.ts'
import { Failure } from '../../components/failure.tsx'
import { FieldsForm, listOf } from '../../components/fields-form.tsx'
import { useAcl } from '../../shell/acl.ts'
import { pathsOfTypes, useMounts } from '../../shell/mounts.ts'
import { usePolicyChoices } from '../../shell/people.ts'
import { PlaceLink } from '../../shell/use-place.tsx'
import { strings } from '../../strings.ts'
import { writeUser } from '../logins/user-calls.ts'
import { auditDevices, enableAudit, enableSecrets } from '../system/calls.ts'
import { enableLogin, type StepRun } from './calls.ts'
import { CiLogin } from './ci-login.tsx'

const text = strings.home.steps

/** The first steps on an empty server, for the root policy. The panel is absent once all are done. */
export function FirstSteps() {
  const { data } = useAcl()
  return data?.root === true ? <Steps /> : null
}

function Steps() {
  const client = useQueryClient()
  const { mounts, isKnown } = useMounts()
  const devices = useQuery({
    queryKey: ['first-steps', 'audit-devices'],
    queryFn: async ({ signal }) => (await auditDevices({}, { signal })).data,
  })
  const messages = useQuery({
    queryKey: ['first-steps', 'messages'],
    queryFn: ({ signal }) => ifMissing(listMessages({}, { signal }), null),
  })
  const jobMounts = pathsOfTypes(mounts.auth, ['jwt', 'kubernetes'])
  const jobRoles = useQuery({
    queryKey: ['first-steps', 'job-roles', jobMounts],
    queryFn: async ({ signal }) =>
      (
        await Promise.all(
          jobMounts.map((mount) => keysOf(loginRoles({ params: { jwt_mount_path: mount } }, { signal }))),
        )
      ).flat(),
    enabled: isKnown,
  })
  const [hasBegun, setBegun] = useState(false)
  const run: StepRun = (step) => async (value) => {
    await step(value)
    setBegun(true)
    await client.invalidateQueries()
  }
  if (!isKnown || devices.data === undefined || messages.data === undefined || jobRoles.data === undefined)
    return <Failure error={devices.error ?? messages.error ?? jobRoles.error} />
  const has = (...types: readonly string[]) => pathsOfTypes(mounts.auth, types).length > 0
  const steps: readonly StepProps[] = [
    {
      says: text.secrets,
      isDone: pathsOfTypes(mounts.secret, ['kv']).length > 0,
      children: <Secrets run={run} />,
    },
    { says: text.ci, isDone: jobRoles.data.length > 0 || has('approle'), children: <CiLogin run={run} /> },
    { says: text.people, isDone: has('userpass', 'oidc'), children: <People run={run} /> },
    { says: text.audit, isDone: Object.keys(devices.data).length > 0, children: <Audit run={run} /> },
    { says: text.banner, isDone: messages.data !== null, children: <Announcement run={run} /> },
  ]
  const done = steps.filter(({ isDone }) => isDone).length
  if (done === steps.length && !hasBegun) return null
  return (
    <section className="panel" aria-labelledby="first-steps">
      <div>
        <h2 id="first-steps">{text.title}</h2>
        <p role="status" className="hint">
          {done === steps.length ? text.allDone : text.done(done, steps.length)}
        </p>
      </div>
      <ol className="first-steps">
        {steps.map((step) => (
          <Step key={step.says.title} {...step} />
        ))}
      </ol>
    </section>
  )
}

type StepProps = {
  readonly says: { readonly title: string; readonly why: string }
  readonly isDone: boolean
  readonly children: ReactNode
}

const Step = ({ says, isDone, children }: StepProps) => (
  <li className={isDone ? 'verdict pass' : ''}>
    {isDone ? (
      <span>
        {says.title} <span className="hint">({text.isDone})</span>
      </span>
    ) : (
      <details>
        <summary>{says.title}</summary>
        <div className="stack">
          <p>{says.why}</p>
          {children}
        </div>
      </details>
    )}
  </li>
)

type FormProps = { readonly run: StepRun }

const Secrets = ({ run }: FormProps) => (
  <FieldsForm
    title={text.secrets.form}
    action={text.enable}
    fields={[{ name: 'path', label: text.path, isRequired: true, initial: 'secret' }]}
    run={run((value) =>
      enableSecrets({ params: { path: value('path') }, body: { type: 'kv', options: { version: '2' } } }),
    )}
  />
)

const People = ({ run }: FormProps) => {
  const policies = usePolicyChoices()
  return (
    <>
      <FieldsForm
        title={text.people.form}
        action={text.enable}
        fields={[
          { name: 'path', label: text.path, isRequired: true, initial: 'userpass' },
          { name: 'username', label: text.username, isRequired: true },
          { name: 'password', label: text.password, isRequired: true, type: 'password' },
          { name: 'token_policies', label: text.policies, picks: { choices: policies, allowsOther: true } },
        ]}
        run={run((value) =>
          enableLogin(value('path'), { type: 'userpass', config: { listing_visibility: 'unauth' } }, () =>
            writeUser({
              params: { userpass_mount_path: value('path'), username: value('username') },
              body: { password: value('password'), token_policies: listOf(value('token_policies')) },
            }),
          ),
        )}
      />
      <p>
        {text.orProvider}{' '}
        <PlaceLink view="system" parts={['auth']}>
          {text.toLogins}
        </PlaceLink>
      </p>
    </>
  )
}

const Audit = ({ run }: FormProps) => (
  <FieldsForm
    title={text.audit.form}
    action={text.enable}
    fields={[
      { name: 'file_path', label: text.file, hint: text.fileHint, isRequired: true, initial: 'stdout' },
    ]}
    run={run((value) =>
      enableAudit({
        params: { path: 'file' },
        body: { type: 'file', options: { file_path: value('file_path') } },
      }),
    )}
  />
)

const Announcement = ({ run }: FormProps) => (
  <FieldsForm
    title={text.banner.form}
    action={text.show}
    fields={[
      { name: 'title', label: strings.announcements.title, isRequired: true },
      { name: 'message', label: strings.announcements.text, isRequired: true },
    ]}
    run={run((value) =>
      createMessage({
        body: {
          title: value('title'),
          message: base64OfText(value('message')),
          start_time: new Date(serverNow()).toISOString(),
          authenticated: false,
        },
      }),
    )}
  />
)
