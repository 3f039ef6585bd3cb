import { useQuery, useQueryClient } from '@tanstack/react-query'
import { authTuning, tuneAuth } from '../../api/logins.ts'
import { Failure } from '../../components/failure.tsx'
import { FieldsForm } from '../../components/fields-form.tsx'
import { useCapabilities } from '../../shell/capabilities.ts'
import { strings } from '../../strings.ts'

const text = strings.logins.memory

const usualDays = '30'

/** How long the mount remembers who logged in, which what-if needs. */
export function LoginMemory({ mount }: { readonly mount: string }) {
  const client = useQueryClient()
  const path = `sys/auth/${mount}/tune`
  const { can } = useCapabilities([path])
  const { data, error } = useQuery({
    queryKey: ['auth-tuning', mount],
    queryFn: ({ signal }) => authTuning({ params: { path: mount } }, { signal }),
    enabled: can(path, 'read'),
  })
  if (error !== null) return <Failure error={error} />
  if (data === undefined) return null
  const options: Readonly<Record<string, string>> = data.data.options ?? {}
  const days = options['history_days'] ?? usualDays
  if (!can(path, 'update')) return <p className="hint">{text.days(days)}</p>
  return (
    <FieldsForm
      key={days}
      title={text.title}
      action={text.save}
      fields={[
        {
          name: 'history_days',
          label: text.label,
          hint: text.hint,
          type: 'number',
          initial: days,
          isRequired: true,
        },
      ]}
      run={async (value) => {
        await tuneAuth({
          params: { path: mount },
          body: { options: { history_days: value('history_days') } },
        })
        await client.invalidateQueries({ queryKey: ['auth-tuning', mount] })
      }}
    />
  )
}
