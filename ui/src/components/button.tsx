import { Button as AriaButton, type ButtonProps } from 'react-aria-components/Button'

type Props = Omit<ButtonProps, 'className'> & { readonly kind?: 'primary' | 'plain' | 'danger' | 'quiet' }

export const Button = ({ kind = 'plain', ...props }: Props) => (
  <AriaButton {...props} className={`button ${kind}`} />
)
