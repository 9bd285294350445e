// What speaks in the calls: an Azure AI resource. It takes no keys. The first one of a subscription needs somebody to have accepted the
// Responsible AI terms in the portal: README.md ("The phone").
param name string
param location string
param tags object

@description('The identity of the Communication Services resource, which lets it speak.')
param communicationPrincipalId string

var cognitiveServicesUser = 'a97b65f3-24c7-4388-baec-2e87135dc908'

// Kind and custom subdomain as Call Automation's speech needs them: without the subdomain an identity cannot be used.
resource speech 'Microsoft.CognitiveServices/accounts@2025-06-01' = {
  name: name
  location: location
  tags: tags
  kind: 'CognitiveServices'
  sku: { name: 'S0' }
  properties: {
    customSubDomainName: name
    disableLocalAuth: true
    // Communication Services reaches it from outside, also where the app is in a network of its own.
    publicNetworkAccess: 'Enabled'
  }
}

// Without this role calls connect and stay silent (8565, 8567).
resource communicationSpeaks 'Microsoft.Authorization/roleAssignments@2022-04-01' = {
  name: guid(speech.id, communicationPrincipalId, cognitiveServicesUser)
  scope: speech
  properties: {
    roleDefinitionId: subscriptionResourceId('Microsoft.Authorization/roleDefinitions', cognitiveServicesUser)
    principalId: communicationPrincipalId
    principalType: 'ServicePrincipal'
  }
}

output endpoint string = speech.properties.endpoint
