// Mail when the resource group exceeds its budget. It stops nothing.
param name string

@description('A month in the currency of the subscription.')
param amount int

@description('The first month, YYYY-MM. Azure does not allow another first month later.')
param startMonth string

param emails array

@description('The action group for alerts.')
param alertGroupId string

resource budget 'Microsoft.Consumption/budgets@2023-11-01' = {
  name: name
  properties: {
    category: 'Cost'
    amount: amount
    timeGrain: 'Monthly'
    timePeriod: { startDate: '${startMonth}-01T00:00:00Z' }
    notifications: {
      spent: {
        enabled: true
        operator: 'GreaterThan'
        threshold: 80
        thresholdType: 'Actual'
        contactEmails: emails
        contactGroups: [alertGroupId]
      }
      foreseen: {
        enabled: true
        operator: 'GreaterThan'
        threshold: 100
        thresholdType: 'Forecasted'
        contactEmails: emails
        contactGroups: [alertGroupId]
      }
    }
  }
}
